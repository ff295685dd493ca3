# run: compile, functionalize, tidy-functional, reinplace
# Parts of a tensor that the graph made are assigned in its memory.
def f(x):
  a = x * 2
  a[1].add_(1)
  a[1:].mul_(2)
  return a
# ---- expect
graph(%x : Tensor):
  %11 : NoneType = prim::Constant()
  %4 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %5 : Tensor = aten::select(%a, %4, %3)
  %16 : Tensor = cresset::add(%5, %3, %3)
  %17 : Tensor = cresset::select_assign(%a, %16, %4, %3)
  %13 : Tensor = aten::slice(%17, %4, %3, %11, %3)
  %18 : Tensor = cresset::mul(%13, %1)
  %19 : Tensor = cresset::slice_assign(%17, %18, %4, %3, %11, %3)
  return (%19)
