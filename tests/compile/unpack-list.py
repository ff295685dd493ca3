# run: compile
def f(x: List[int]):
  a, b = x
  return a + b
# ---- expect
