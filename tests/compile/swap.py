# run: compile
def f(a: int, b: int):
  a, b = b, a
  return a, b
# ---- expect
