# run: code
# What only one branch uses dies at the start of the other.
def f(x, y, c: bool):
  if c:
    z = x + y
  else:
    z = y
  return z
# ---- expect
f: 3 inputs, 3 registers
  0  JumpIfNot r2 -> 3  # drop-in-branch.py:4
  1  r2 = aten::add.Tensor(move r0, move r1, 1)  # drop-in-branch.py:5
  2  Jump -> 5  # drop-in-branch.py:5
  3  Drop r0  # drop-in-branch.py:5
  4  r2 = move r1  # drop-in-branch.py:5
  5  Return move r2  # drop-in-branch.py:5
