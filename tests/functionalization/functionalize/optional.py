# run: compile, functionalize
# An argument that may be None: its closing copy does nothing then.
def f(x, m: Optional[Tensor]):
  y = x * 2
  if m is not None:
    m[0].add_(1)
    y = y + m
  return y
# ---- expect
graph(%x : Tensor,
      %m.1 : Tensor?):
  %2 : int = prim::Constant[value=2]()
  %y.1 : Tensor = aten::mul(%x, %2)
  %4 : NoneType = prim::Constant()
  %5 : bool = aten::__isnot__(%m.1, %4)
  %y : Tensor, %19 : Tensor? = prim::If(%5)
    block0():
      %m : Tensor = prim::unchecked_cast(%m.1)
      %7 : int = prim::Constant[value=0]()
      %8 : int = prim::Constant[value=0]()
      %9 : Tensor = aten::select(%m, %8, %7)
      %10 : int = prim::Constant[value=1]()
      %11 : int = prim::Constant[value=1]()
      %16 : Tensor = cresset::add(%9, %10, %11)
      %17 : Tensor = prim::unchecked_cast(%m.1)
      %18 : Tensor = aten::select_scatter(%17, %16, %8, %7)
      %13 : int = prim::Constant[value=1]()
      %y.2 : Tensor = aten::add(%y.1, %18, %13)
      -> (%y.2, %18)
    block1():
      -> (%y.1, %m.1)
  %20 : Tensor? = cresset::copy_if_written_(%m.1, %19)
  return (%y)
