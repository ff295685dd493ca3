# run: compile, functionalize
# What comes out of the branch may be the argument, which the branch has written.
def f(x, c: bool):
  if c:
    y = x.neg()
  else:
    x.add_(1)
    y = x
  return y
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %y : Tensor = prim::If(%c)
    block0():
      %y.1 : Tensor = aten::neg(%x)
      -> (%y.1)
    block1():
      %3 : int = prim::Constant[value=1]()
      %4 : int = prim::Constant[value=1]()
      %5 : Tensor = aten::add_(%x, %3, %4)
      -> (%x)
  return (%y)
