# run: code
# One instruction counts and compares.
def f(n: int):
  s = 0
  for i in range(n):
    s += i
  return s
# ---- expect
f: 1 inputs, 3 registers
  0  r1 = 0  # loop-for.py:5
  1  r2 = 0  # loop-for.py:5
  2  JumpIfGe r2, r0 -> 5  # loop-for.py:5
  3  r1 = aten::add.int(r1, r2)  # loop-for.py:6
  4  Loop ++r2 < r0 -> 3  # loop-for.py:5
  5  Return move r1  # loop-for.py:5
