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
  %5 : NoneType = prim::Constant()
  %6 : Tensor = aten::clone(%x, %5)
  %7 : Tensor = cresset::mul(%6, %y)
  %3 : int = prim::Constant[value=1]()
  %8 : bool = prim::Constant[value=0]()
  %9 : Tensor = aten::copy_(%x, %7, %8)
  return (%3)
