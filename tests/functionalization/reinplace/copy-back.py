# run: compile, functionalize, tidy-functional, reinplace
# What an argument becomes is computed in it again.
def f(x, y):
  x.mul_(2)
  z = x.sum()
  x.add_(1)
  return z
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %11 : bool = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=1]()
  %4 : NoneType = prim::Constant()
  %2 : int = prim::Constant[value=2]()
  %9 : Tensor = aten::mul_(%x, %2)
  %z : Tensor = aten::sum(%x, %4)
  %10 : Tensor = aten::add_(%x, %6, %6)
  return (%z)
