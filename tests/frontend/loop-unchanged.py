# run: compile
# A variable that is assigned but does not change is not carried.
def f(x: int, n: int):
  y = 1
  for i in range(n):
    x = x
    y = y + x
  return y
# ---- expect
graph(%x.1 : int,
      %n : int):
  %y.1 : int = prim::Constant[value=1]()
  %3 : bool = prim::Constant[value=1]()
  %y : int = prim::Loop(%n, %3, %y.1)
    block0(%i : int, %y.2 : int):
      %y.3 : int = aten::add(%y.2, %x.1)
      -> (%3, %y.3)
  return (%y)
