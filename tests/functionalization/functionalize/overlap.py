# run: compile, functionalize, tidy-functional
# What eager PyTorch raises for operands that are parts of what is written is checked; pieces of one tensor lie apart.
def f(x):
  a = x * 2
  a[1:].add_(a[:-1])
  low, high = a.chunk(2)
  low.mul_(high)
  a.add_(a)
  return a
# ---- expect
graph(%x : Tensor):
  %23 : bool = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=-1]()
  %5 : NoneType = prim::Constant()
  %4 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %7 : Tensor = aten::slice(%a, %4, %3, %5, %3)
  %12 : Tensor = aten::slice(%a, %4, %5, %8, %3)
   = cresset::check_overlap(%7, %12, %23)
  %24 : Tensor = cresset::add(%7, %12, %3)
  %25 : Tensor = aten::slice_scatter(%a, %24, %4, %3, %5, %3)
  %17 : Tensor[] = aten::chunk(%25, %1, %4)
  %low : Tensor, %high : Tensor = prim::ListUnpack(%17)
  %26 : Tensor = cresset::mul(%low, %high)
  %28 : int = aten::size(%25, %4)
  %29 : int = aten::add(%28, %1)
  %31 : int = aten::sub(%29, %3)
  %32 : int = aten::floordiv(%31, %1)
  %33 : int = aten::mul(%4, %32)
  %34 : int = aten::size(%26, %4)
  %35 : int = aten::add(%33, %34)
  %37 : Tensor = aten::slice_scatter(%25, %26, %4, %33, %35, %3)
  %38 : Tensor = cresset::add(%37, %37, %3)
  return (%38)
