# run: compile
def f(x: Optional[int], y: Optional[int]):
  if x is not None and y is not None and x > y:
    return x + y
  return 0
# ---- expect
