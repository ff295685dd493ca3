# run: run
def f(a: int, b: float):
  return min(a, 3), max(b, 0.0), abs(a), abs(b), min([a, 2, 7])
# call: f(-5, float("nan"))
# call: f(5, -0.0)
# ---- expect
f(-5, float("nan")) -> (-5, 0.0, 5, nan, -5)
f(5, -0.0) -> (3, 0.0, 5, 0.0, 2)
