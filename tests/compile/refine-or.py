# run: compile
def f(x: Optional[int]):
  if x is None or x > 3:
    return 0
  return x + 1
# ---- expect
