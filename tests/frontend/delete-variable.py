# run: compile
def f(x: int):
  y = x
  del y
  y = "again"
  return y
# ---- expect
graph(%x : int):
  %y : str = prim::Constant[value="again"]()
  return (%y)
