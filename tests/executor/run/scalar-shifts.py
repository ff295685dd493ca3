# run: run
def f(a: int, b: int):
  return a << b, a >> b
# call: f(1, 3)
# call: f(-9, 1)
# call: f(1, 63)
# ---- expect
f(1, 3) -> (8, 0)
f(-9, 1) -> (-18, -5)
f(1, 63) -> (-9223372036854775808, 0)
