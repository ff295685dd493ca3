# run: compile
def f(x: Optional[int]):
  if x is None:
    return 0
  return x + 1
# ---- expect
