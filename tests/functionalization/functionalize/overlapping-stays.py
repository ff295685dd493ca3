# run: compile, functionalize
# Several elements of the view may be one of the tensor.
def f(x):
  a = x * 2
  a.expand(3, -1).add_(1)
  return a
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %3 : int = prim::Constant[value=3]()
  %4 : int = prim::Constant[value=-1]()
  %5 : int[] = prim::ListConstruct(%3, %4)
  %6 : bool = prim::Constant[value=0]()
  %7 : Tensor = aten::expand(%a, %5, %6)
  %8 : int = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=1]()
  %10 : Tensor = aten::add_(%7, %8, %9)
  return (%a)
