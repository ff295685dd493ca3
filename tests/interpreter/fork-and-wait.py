# run: code
def fn(arg0, arg1):
  v = arg0 + arg1
  return v

def f(arg0, arg1):
  fut = torch.jit._fork(fn, arg0, arg1)
  v = fut.wait()
  return v
# ---- expect
fn: 2 inputs, 2 registers
  0  r1 = aten::add.Tensor(move r0, move r1, 1)  # fork-and-wait.py:3
  1  Return move r1  # fork-and-wait.py:3
f: 2 inputs, 2 registers
  0  r1 = Fork 0(move r0, move r1)  # fork-and-wait.py:7
  1  r0 = Wait(r1)  # fork-and-wait.py:8
  2  Drop r1  # fork-and-wait.py:8
  3  Return move r0  # fork-and-wait.py:8
apart 0, <forked function>: 2 inputs, 2 registers
  0  r1 = CallFunction fn(move r0, move r1)  # fork-and-wait.py:7
  1  Return move r1  # fork-and-wait.py:7
