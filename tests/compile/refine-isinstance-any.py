# run: compile
def f(x: Any):
  if isinstance(x, (int, str)):
    return 1
  return 0
# ---- expect
