# run: code
# The object stays in its register until the method has returned: it may be the last of its class, whose code goes with it.
# Other arguments move.
@interface
class Step:
  def step(self, x: Tensor) -> Tensor:
    pass

def f(s: Step, x):
  y = x + 1
  return s.step(y)
# ---- expect
f: 2 inputs, 2 registers
  0  r1 = aten::add.Scalar(move r1, 1, 1)  # interface-call.py:10
  1  r1 = CallMethod step(r0, move r1)  # interface-call.py:11
  2  Drop r0  # interface-call.py:11
  3  Return move r1  # interface-call.py:11
