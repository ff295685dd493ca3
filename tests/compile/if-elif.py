# run: compile
def f(x: int):
  if x > 1:
    y = 1
  elif x < -1:
    y = 2
  else:
    y = 3
  return y
# ---- expect
