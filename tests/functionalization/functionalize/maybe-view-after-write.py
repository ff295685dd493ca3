# run: compile, functionalize
# A reshaped argument that is returned shares its memory: the argument gets its new value before.
def f(x):
  x.add_(1)
  y = x * 2
  return x.reshape(-1), y
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=1]()
  %10 : Tensor = cresset::add(%x, %1, %2)
  %4 : int = prim::Constant[value=2]()
  %y : Tensor = aten::mul(%10, %4)
  %6 : int = prim::Constant[value=-1]()
  %7 : int[] = prim::ListConstruct(%6)
  %11 : bool = prim::Constant[value=0]()
  %12 : Tensor = aten::copy_(%x, %10, %11)
  %8 : Tensor = aten::reshape(%x, %7)
  %9 : (Tensor, Tensor) = prim::TupleConstruct(%8, %y)
  return (%9)
