# run: compile, functionalize, tidy-functional
# An index from the end of a list of pieces.
def f(x):
  a = x * 2
  a.chunk(3, 1)[-1].add_(1)
  a.unbind(0)[-2].neg_()
  return a
# ---- expect
graph(%x : Tensor):
  %13 : int = prim::Constant[value=-2]()
  %11 : int = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=-1]()
  %4 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=3]()
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %5 : Tensor[] = aten::chunk(%a, %3, %4)
  %7 : Tensor = aten::__getitem__(%5, %6)
  %16 : Tensor = cresset::add(%7, %4, %4)
  %18 : int = aten::len(%5)
  %19 : int = aten::add(%18, %6)
  %20 : int = aten::size(%a, %4)
  %21 : int = aten::add(%20, %3)
  %23 : int = aten::sub(%21, %4)
  %24 : int = aten::floordiv(%23, %3)
  %25 : int = aten::mul(%19, %24)
  %26 : int = aten::size(%16, %4)
  %27 : int = aten::add(%25, %26)
  %29 : Tensor = aten::slice_scatter(%a, %16, %4, %25, %27, %4)
  %12 : Tensor[] = aten::unbind(%29, %11)
  %14 : Tensor = aten::__getitem__(%12, %13)
  %30 : Tensor = cresset::neg(%14)
  %32 : int = aten::len(%12)
  %33 : int = aten::add(%32, %13)
  %34 : Tensor = aten::select_scatter(%29, %30, %11, %33)
  return (%34)
