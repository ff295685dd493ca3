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
  %5 : Tensor[] = prim::ListConstruct(%i)
  %12 : Tensor = cresset::functional_aten_index_put_(%y, %5, %v, %6, %6)
  %10 : Tensor = aten::add(%12, %8, %8)
  return (%10)
