# run: run
# x * 0, x - x, x + 0.0 and x / x are not constants: NaN, infinity, signed zeros.
def f(v: float):
  return v * 0, v - v, v + 0.0, v * 1.0, v == v, 0.0 - v
# call: f(1.5)
# call: f(float("nan"))
# call: f(float("inf"))
# call: f(-0.0)
# ---- expect
f(1.5) -> (0.0, 0.0, 1.5, 1.5, True, -1.5)
f(float("nan")) -> (nan, nan, nan, nan, False, nan)
f(float("inf")) -> (nan, nan, inf, inf, True, -inf)
f(-0.0) -> (-0.0, 0.0, 0.0, -0.0, True, 0.0)
