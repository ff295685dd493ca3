# run: compile
# The variable keeps its annotated type.
def f(c: bool):
  x: Optional[int] = 3
  y = [x]
  if c:
    x = None
  return x, y
# ---- expect
