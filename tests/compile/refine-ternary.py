# run: compile
def f(x: Optional[int]):
  return x if x is not None else 3
# ---- expect
