# run: compile
def foo(a : Tensor, b : Tensor):
  c = 2 * b
  a += 1
  if bool(a.max() > 4):
    r = a[0]
  else:
    r = b[0]
  return c, r
# ---- expect
graph(%a.1 : Tensor,
      %b : Tensor):
  %2 : int = prim::Constant[value=2]()
  %c : Tensor = aten::mul(%b, %2)
  %4 : int = prim::Constant[value=1]()
  %5 : int = prim::Constant[value=1]()
  %a : Tensor = aten::add_(%a.1, %4, %5)
  %7 : Tensor = aten::max(%a)
  %8 : int = prim::Constant[value=4]()
  %9 : Tensor = aten::gt(%7, %8)
  %10 : bool = aten::Bool(%9)
  %r : Tensor = prim::If(%10)
    block0():
      %11 : int = prim::Constant[value=0]()
      %12 : int = prim::Constant[value=0]()
      %r.1 : Tensor = aten::select(%a, %12, %11)
      -> (%r.1)
    block1():
      %14 : int = prim::Constant[value=0]()
      %15 : int = prim::Constant[value=0]()
      %r.2 : Tensor = aten::select(%b, %15, %14)
      -> (%r.2)
  %18 : (Tensor, Tensor) = prim::TupleConstruct(%c, %r)
  return (%18)
