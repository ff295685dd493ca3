# run: code
# A while loop keeps no counter.
def f(n: int):
  i = 0
  while i < n:
    i += 2
  return i
# ---- expect
f: 1 inputs, 4 registers
  0  r1 = aten::lt.int(0, r0)  # loop-while.py:5
  1  r2 = 0  # loop-while.py:5
  2  JumpIfNot r1 -> 5  # loop-while.py:5
  3  r2 = aten::add.int(r2, 2)  # loop-while.py:6
  4  JumpIfLt r2, r0 -> 3  # loop-while.py:5
  5  Return move r2  # loop-while.py:5
