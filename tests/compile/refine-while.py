# run: compile
def f(x: Optional[int]):
  while x is not None:
    x = x - 1 if x > 0 else None
  return x
# ---- expect
