# run: compile, simplify-branches, dce
def f(x, c: bool):
  if c:
    y = x + 1
  else:
    y = x + 1
  return y
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %y : Tensor = prim::If(%c)
    block0():
      %2 : int = prim::Constant[value=1]()
      %3 : int = prim::Constant[value=1]()
      %y.1 : Tensor = aten::add(%x, %2, %3)
      -> (%y.1)
    block1():
      %5 : int = prim::Constant[value=1]()
      %6 : int = prim::Constant[value=1]()
      %y.2 : Tensor = aten::add(%x, %5, %6)
      -> (%y.2)
  return (%y)
