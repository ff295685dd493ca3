# run: code
# The old value of a carried variable goes when the new one is there; what the body takes from outside lives on.
def f(x, y, n: int):
  for i in range(n):
    x = x * y
  return x
# ---- expect
f: 3 inputs, 4 registers
  0  r3 = 0  # drop-in-loop.py:4
  1  JumpIfGe r3, r2 -> 4  # drop-in-loop.py:4
  2  r0 = aten::mul.Tensor(move r0, r1)  # drop-in-loop.py:5
  3  Loop ++r3 < r2 -> 2  # drop-in-loop.py:4
  4  Drop r1  # drop-in-loop.py:4
  5  Return move r0  # drop-in-loop.py:4
