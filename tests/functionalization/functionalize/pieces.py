# run: compile, functionalize, tidy-functional
# Views that come in a list.
def f(x):
  a = x * 2
  first, second = a.unbind(0)
  first.add_(1)
  second.add_(first)
  return a
# ---- expect
graph(%x : Tensor):
  %7 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %4 : Tensor[] = aten::unbind(%a, %3)
  %first : Tensor, %second : Tensor = prim::ListUnpack(%4)
  %12 : Tensor = cresset::add(%first, %7, %7)
  %14 : Tensor = aten::select_scatter(%a, %12, %3, %3)
  %15 : Tensor[] = aten::unbind(%14, %3)
  %17 : Tensor = aten::__getitem__(%15, %7)
  %19 : Tensor = aten::__getitem__(%15, %3)
  %20 : Tensor = cresset::add(%17, %19, %7)
  %22 : Tensor = aten::select_scatter(%14, %20, %3, %7)
  return (%22)
