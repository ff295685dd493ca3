# run: compile
def f(x: int):
  while x > 3:
    x -= 1
  return x
# ---- expect
