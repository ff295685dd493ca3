# run: run
def f(a: float, b: float):
  return a / b
# call: f(1.0, 4.0)
# call: f(1.0, 0.0)
# ---- expect
f(1.0, 4.0) -> 0.25
f(1.0, 0.0) -> inf
