# run: compile, functionalize
# An argument gets one copy at the end; what is returned of it is the argument itself.
def f(x):
  x.mul_(2)
  y = x + 1
  x.add_(y)
  return x, y
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %9 : Tensor = cresset::mul(%x, %1)
  %3 : int = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%9, %3, %4)
  %6 : int = prim::Constant[value=1]()
  %10 : Tensor = cresset::add(%9, %y, %6)
  %11 : bool = prim::Constant[value=0]()
  %12 : Tensor = aten::copy_(%x, %10, %11)
  %8 : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  return (%8)
