# run: compile
def f(x: Tuple[int, float]):
  s = 0.0
  for v in x:
    s = s + v
  return s
# ---- expect
