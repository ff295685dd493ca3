# run: compile, reinplace
# A scatter whose part may have other sizes raises; what assigns would broadcast.
def f(x, y):
  a = x * 2
  return torch.select_scatter(a, y, 0, 1)
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %2)
  %4 : int = prim::Constant[value=0]()
  %5 : int = prim::Constant[value=1]()
  %6 : Tensor = aten::select_scatter(%a, %y, %4, %5)
  return (%6)
