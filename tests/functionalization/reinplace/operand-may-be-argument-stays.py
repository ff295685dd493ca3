# run: compile, functionalize, reinplace
# `y` may be a part of `x`.
def f(x, y):
  x.mul_(y)
  return 1
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %4 : Tensor = cresset::mul(%x, %y)
  %3 : int = prim::Constant[value=1]()
  %5 : bool = prim::Constant[value=0]()
  %6 : Tensor = aten::copy_(%x, %4, %5)
  return (%3)
