# run: compile, functionalize
# A tensor that becomes a view of itself is another value from there on, under all its names.
def f(x):
  a = x * 2
  b = a.add_(1)
  a.unsqueeze_(0)
  b.mul_(3)
  return a, b.dim()
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %3 : int = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=1]()
  %13 : Tensor = cresset::add(%a, %3, %4)
  %6 : int = prim::Constant[value=0]()
  %12 : Tensor = aten::unsqueeze(%13, %6)
  %8 : int = prim::Constant[value=3]()
  %14 : Tensor = cresset::mul(%12, %8)
  %15 : Tensor = aten::squeeze(%14, %6)
  %16 : Tensor = aten::unsqueeze(%15, %6)
  %10 : int = aten::dim(%16)
  %11 : (Tensor, int) = prim::TupleConstruct(%16, %10)
  return (%11)
