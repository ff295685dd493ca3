# run: compile
# The comprehension's variable hides that of the function.
def f(x: str, xs: List[int]):
  ys = [x + 1 for x in xs]
  return x, ys
# ---- expect
