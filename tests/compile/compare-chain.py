# run: compile
# Each operand is evaluated once.
def g(x: int) -> int:
  return x
def f(x: int):
  return 1 < g(x) < 3, 0 <= x < 10 <= 20
# ---- expect
