# run: compile
def f(x: int):
  y = x
  del y
  y = "again"
  return y
# ---- expect
