# run: compile
def f(x: int):
  if x > 1:
    y = 1
  else:
    y = 2
  return y
# ---- expect
