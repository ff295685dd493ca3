# run: compile, pool-constants, cse
def f(x, y):
  a = x.sum()
  y.add_(1)
  b = x.sum()
  return a, b
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %4 : int = prim::Constant[value=1]()
  %2 : NoneType = prim::Constant()
  %a : Tensor = aten::sum(%x, %2)
  %6 : Tensor = aten::add_(%y, %4, %4)
  %b : Tensor = aten::sum(%x, %2)
  %9 : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
  return (%9)
