# run: compile, functionalize
# Whether `b` is a view of `a` depends on its layout.
def f(x):
  a = x.cos()
  b = a.reshape(-1)
  a.add_(1)
  return b * 2
# ---- expect
graph(%x : Tensor):
  %a : Tensor = aten::cos(%x)
  %2 : int = prim::Constant[value=-1]()
  %3 : int[] = prim::ListConstruct(%2)
  %b : Tensor = aten::reshape(%a, %3)
  %5 : int = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=1]()
  %7 : Tensor = aten::add_(%a, %5, %6)
  %8 : int = prim::Constant[value=2]()
  %9 : Tensor = aten::mul(%b, %8)
  return (%9)
