# run: compile, functionalize
# `y` may be `x`, but nobody reads it after the write.
def f(x, y):
  x.add_(y)
  return x * 2
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=1]()
  %6 : bool = prim::Constant[value=1]()
   = cresset::check_overlap(%x, %y, %6)
  %7 : Tensor = cresset::add(%x, %y, %2)
  %4 : int = prim::Constant[value=2]()
  %5 : Tensor = aten::mul(%7, %4)
  %8 : bool = prim::Constant[value=0]()
  %9 : Tensor = aten::copy_(%x, %7, %8)
  return (%5)
