# run: compile
# Only the branch that is taken is compiled.
def f(x: int):
  if isinstance(x, int):
    y = 1
  else:
    y = x.nothing
  if x is None:
    y = "never"
  return y
# ---- expect
graph(%x : int):
  %y : int = prim::Constant[value=1]()
  return (%y)
