# run: compile, functionalize, tidy-functional, reinplace
# What the loop carries is also returned as it was before.
def f(x, n: int):
  h = x * 2
  g = h
  for i in range(n):
    g = torch.select_scatter(g, torch.ops.cresset.add(g[i], 1, alpha=1), 0, i)
  return h, g
# ---- expect
graph(%x : Tensor,
      %n : int):
  %9 : int = prim::Constant[value=1]()
  %7 : int = prim::Constant[value=0]()
  %4 : bool = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %h : Tensor = aten::mul(%x, %2)
  %g : Tensor = prim::Loop(%n, %4, %h)
    block0(%i : int, %g.1 : Tensor):
      %8 : Tensor = aten::select(%g.1, %7, %i)
      %11 : Tensor = cresset::add(%8, %9, %9)
      %g.2 : Tensor = aten::select_scatter(%g.1, %11, %7, %i)
      -> (%4, %g.2)
  %15 : (Tensor, Tensor) = prim::TupleConstruct(%h, %g)
  return (%15)
