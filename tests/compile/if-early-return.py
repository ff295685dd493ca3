# run: compile
def f(x: int):
  if x > 1:
    return 1
  x = x + 1
  if x < -1:
    return 2
  return x
# ---- expect
