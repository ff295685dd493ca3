# run: run
def f(v: float):
  return int(v), round(v), math.floor(v), math.ceil(v)
# call: f(2.5)
# call: f(-2.5)
# call: f(-0.5)
# ---- expect
f(2.5) -> (2, 2.0, 2, 3)
f(-2.5) -> (-2, -2.0, -3, -2)
f(-0.5) -> (0, -0.0, -1, 0)
