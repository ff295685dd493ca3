# run: compile, functionalize, tidy-functional
# Scripts call an overload that the dispatcher has not.
def f(x, i, v):
  y = x * 2
  y.index_put_([i], v)
  return y + 1
# ---- expect
graph(%x : Tensor,
      %i : Tensor,
      %v : Tensor):
  %8 : int = prim::Constant[value=1]()
  %6 : bool = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=2]()
  %y : Tensor = aten::mul(%x, %3)
  %11 : Tensor?[] = prim::ListConstruct(%i)
  %13 : Tensor = cresset::index_put(%y, %11, %v, %6)
  %10 : Tensor = aten::add(%13, %8, %8)
  return (%10)
