# run: code
def f(n: int, m: int):
  return abs(n - m)
# ---- expect
f: 2 inputs, 2 registers
  0  r1 = aten::sub.int(r0, r1)  # absolute-value.py:3
  1  r1 = prim::abs.int(r1)  # absolute-value.py:3
  2  Return move r1  # absolute-value.py:3
