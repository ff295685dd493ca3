# run: compile
def f(x: int):
  if x > 1:
    y = 1
  elif x < -1:
    y = 2
  else:
    y = 3
  return y
# ---- expect
graph(%x : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = aten::gt(%x, %1)
  %y : int = prim::If(%2)
    block0():
      %y.1 : int = prim::Constant[value=1]()
      -> (%y.1)
    block1():
      %4 : int = prim::Constant[value=-1]()
      %5 : bool = aten::lt(%x, %4)
      %y.4 : int = prim::If(%5)
        block0():
          %y.2 : int = prim::Constant[value=2]()
          -> (%y.2)
        block1():
          %y.3 : int = prim::Constant[value=3]()
          -> (%y.3)
      -> (%y.4)
  return (%y)
