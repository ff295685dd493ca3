# run: compile, functionalize, tidy-functional
# A write to a view of a view; a sibling that was made before and is read after it.
def f(x):
  a = x * 2
  sibling = a[1]
  a.t()[0].add_(1)
  return a, sibling
# ---- expect
graph(%x : Tensor):
  %4 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %sibling.1 : Tensor = aten::select(%a, %4, %3)
  %6 : Tensor = aten::t(%a)
  %9 : Tensor = aten::select(%6, %4, %4)
  %14 : Tensor = cresset::add(%9, %3, %3)
  %15 : Tensor = aten::select_scatter(%6, %14, %4, %4)
  %16 : Tensor = aten::t(%15)
  %sibling : Tensor = aten::select(%16, %4, %3)
  %13 : (Tensor, Tensor) = prim::TupleConstruct(%16, %sibling)
  return (%13)
