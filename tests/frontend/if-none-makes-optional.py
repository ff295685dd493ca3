# run: compile
def f(x: int):
  if x > 1:
    y = 1
  else:
    y = None
  return y
# ---- expect
graph(%x : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = aten::gt(%x, %1)
  %y : int? = prim::If(%2)
    block0():
      %y.1 : int = prim::Constant[value=1]()
      -> (%y.1)
    block1():
      %y.2 : NoneType = prim::Constant()
      -> (%y.2)
  return (%y)
