# run: code
# The object stays in its register for __exit__ until PopExit.
class Guard:
  def __init__(self):
    self.n = 0
  def __enter__(self):
    self.n += 1
    return self.n
  def __exit__(self, type: Any, value: Any, tb: Any):
    self.n -= 1

def f(g: Guard, x):
  with g as n:
    x = x + n
  return x
# ---- expect
f: 2 inputs, 3 registers
  0  r2 = CallMethod __enter__(r0)  # with.py:13
  1  PushExit r0  # with.py:13
  2  r2 = aten::add.Scalar(move r1, move r2, 1)  # with.py:14
  3  PopExit  # with.py:13
  4  _ = CallMethod __exit__(move r0, None, None, None)  # with.py:13
  5  Return move r2  # with.py:13
Guard.__init__: 1 inputs, 1 registers
  0  SetSlot Guard.n(move r0, 0)  # with.py:5
  1  Return None  # with.py:4
Guard.__enter__: 1 inputs, 2 registers
  0  r1 = GetSlot(r0, Guard.n)  # with.py:7
  1  r1 = aten::add.int(r1, 1)  # with.py:7
  2  SetSlot Guard.n(r0, move r1)  # with.py:7
  3  r1 = GetSlot(r0, Guard.n)  # with.py:8
  4  Drop r0  # with.py:8
  5  Return move r1  # with.py:8
Guard.__exit__: 4 inputs, 4 registers
  0  Drop r1
  1  Drop r2
  2  Drop r3
  3  r3 = GetSlot(r0, Guard.n)  # with.py:10
  4  r3 = aten::sub.int(r3, 1)  # with.py:10
  5  SetSlot Guard.n(move r0, move r3)  # with.py:10
  6  Return None  # with.py:9
