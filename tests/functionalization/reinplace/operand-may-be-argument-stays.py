# run: compile, functionalize, reinplace
# `y` may be a part of `x`.
def f(x, y):
  x.mul_(y)
  return 1
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %4 : bool = prim::Constant[value=1]()
   = cresset::check_overlap(%x, %y, %4)
  %5 : Tensor = cresset::mul(%x, %y)
  %3 : int = prim::Constant[value=1]()
  %6 : bool = prim::Constant[value=0]()
  %7 : Tensor = aten::copy_(%x, %5, %6)
  return (%3)
