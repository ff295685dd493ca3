# run: compile, remove-views
# Memory that is written after the view was made, through the view, and through a view of it.
def f(x, y, z):
  a = x[0]
  x.add_(1)
  b = y[0]
  b.mul_(2)
  c = z[0]
  c.t().neg_()
  return a, y, z, y.t()
# ---- expect
graph(%x : Tensor,
      %y : Tensor,
      %z : Tensor):
  %3 : int = prim::Constant[value=0]()
  %4 : int = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=1]()
  %7 : int = prim::Constant[value=1]()
  %8 : Tensor = aten::add_(%x, %6, %7)
  %9 : int = prim::Constant[value=0]()
  %10 : int = prim::Constant[value=0]()
  %b : Tensor = aten::select(%y, %10, %9)
  %12 : int = prim::Constant[value=2]()
  %13 : Tensor = aten::mul_(%b, %12)
  %14 : int = prim::Constant[value=0]()
  %15 : int = prim::Constant[value=0]()
  %c : Tensor = aten::select(%z, %15, %14)
  %17 : Tensor = aten::t(%c)
  %18 : Tensor = aten::neg_(%17)
  %21 : Tensor = aten::t_copy(%y)
  %a : Tensor = aten::select_copy(%x, %4, %3)
  %20 : (Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%a, %y, %z, %21)
  return (%20)
