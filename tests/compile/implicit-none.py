# run: compile
def f(x: int):
  if x > 1:
    return x
# ---- expect
