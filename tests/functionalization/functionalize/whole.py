# run: compile, functionalize
# A tensor that the graph makes: reads after the write read the new value.
def f(x, y):
  a = x * 2
  b = a + y
  a.add_(y)
  return a, b, a * 3
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %2)
  %4 : int = prim::Constant[value=1]()
  %b : Tensor = aten::add(%a, %y, %4)
  %6 : int = prim::Constant[value=1]()
  %11 : Tensor = cresset::add(%a, %y, %6)
  %8 : int = prim::Constant[value=3]()
  %9 : Tensor = aten::mul(%11, %8)
  %10 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%11, %b, %9)
  return (%10)
