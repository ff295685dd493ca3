# run: compile, functionalize
# Operators that write to tensors in a list.
def f(x, y):
  a = x * 2
  b = y * 2
  torch._foreach_add_([a[0], b], 1.5)
  return a, b
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %2)
  %4 : int = prim::Constant[value=2]()
  %b : Tensor = aten::mul(%y, %4)
  %6 : int = prim::Constant[value=0]()
  %7 : int = prim::Constant[value=0]()
  %8 : Tensor = aten::select(%a, %7, %6)
  %9 : Tensor[] = prim::ListConstruct(%8, %b)
  %10 : float = prim::Constant[value=1.5]()
  %13 : bool = prim::Constant[value=0]()
  %14 : Tensor[] = cresset::functional_aten__foreach_add_(%9, %10, %13)
  %15 : Tensor, %16 : Tensor = prim::ListUnpack(%14)
  %17 : Tensor = aten::select_scatter(%a, %15, %7, %6)
  %12 : (Tensor, Tensor) = prim::TupleConstruct(%17, %16)
  return (%12)
