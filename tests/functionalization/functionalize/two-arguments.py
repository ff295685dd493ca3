# run: compile, functionalize
# `y` may be `x`, but nobody reads it after the write.
def f(x, y):
  x.add_(y)
  return x * 2
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=1]()
  %6 : Tensor = cresset::add(%x, %y, %2)
  %4 : int = prim::Constant[value=2]()
  %5 : Tensor = aten::mul(%6, %4)
  %7 : bool = prim::Constant[value=0]()
  %8 : Tensor = aten::copy_(%x, %6, %7)
  return (%5)
