# run: compile
def f(xs: List[int], ys: List[float]):
  s = 0.0
  for i, (x, y) in enumerate(zip(xs, ys)):
    s += x * y + i
  return s
# ---- expect
