# run: code
def double(x):
  return x * 2

def f(x):
  later = torch.jit._awaitable(double, x)
  return torch.jit._awaitable_wait(later)
# ---- expect
double: 1 inputs, 1 registers
  0  r0 = aten::mul.Scalar(move r0, 2)  # awaitable.py:3
  1  Return move r0  # awaitable.py:3
f: 1 inputs, 1 registers
  0  r0 = MakeAwaitable 0(move r0)  # awaitable.py:6
  1  r0 = prim::awaitable_wait(move r0)  # awaitable.py:7
  2  Return move r0  # awaitable.py:7
apart 0, <awaitable function>: 1 inputs, 1 registers
  0  r0 = CallFunction double(move r0)  # awaitable.py:6
  1  Return move r0  # awaitable.py:6
