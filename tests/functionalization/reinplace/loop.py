# run: compile, functionalize, tidy-functional, reinplace
# Only the loop has what it carries.
def f(x, n: int):
  h = x * 2
  s = h.sum()
  for i in range(n):
    h[i].add_(s)
  return h
# ---- expect
graph(%x : Tensor,
      %n : int):
  %10 : int = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=0]()
  %6 : bool = prim::Constant[value=1]()
  %4 : NoneType = prim::Constant()
  %2 : int = prim::Constant[value=2]()
  %h : Tensor = aten::mul(%x, %2)
  %s : Tensor = aten::sum(%h, %4)
  %15 : Tensor = prim::Loop(%n, %6, %h)
    block0(%i : int, %12 : Tensor):
      %9 : Tensor = aten::select(%12, %8, %i)
      %13 : Tensor = aten::add_(%9, %s, %10)
      -> (%6, %12)
  return (%15)
