# run: code
def f(xs: List[int]):
  for x in xs:
    if x > 3:
      break
    if x == 2:
      continue
    print(x)
  return xs
# ---- expect
f: 1 inputs, 6 registers
   0  r1 = ListLen(r0)  # loop-break.py:3
   1  r2 = 0  # loop-break.py:3
   2  JumpIfGe r2, r1 -> 12  # loop-break.py:3
   3  r3 = ListGet(r0, r2)  # loop-break.py:3
   4  JumpIfLe r3, 3 -> 7  # loop-break.py:4
   5  r4 = False  # loop-break.py:4
   6  Jump -> 10  # loop-break.py:4
   7  JumpIfEq r3, 2 -> 9  # loop-break.py:6
   8  prim::Print(move r3)  # loop-break.py:8
   9  r4 = True  # loop-break.py:4
  10  JumpIfNot r4 -> 12  # loop-break.py:3
  11  Loop ++r2 < r1 -> 3  # loop-break.py:3
  12  Return move r0  # loop-break.py:3
