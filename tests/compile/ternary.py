# run: compile
def f(x: int):
  return 1 if x > 2 else None
# ---- expect
