# run: compile, remove-views
# An argument's memory is what it is; that of what was computed may be laid out in another way.
def f(x):
  return x.as_strided([2], [1]), (x + 1).as_strided([2], [1])
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int[] = prim::ListConstruct(%1)
  %3 : int = prim::Constant[value=1]()
  %4 : int[] = prim::ListConstruct(%3)
  %5 : NoneType = prim::Constant()
  %17 : Tensor = aten::as_strided_copy(%x, %2, %4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=1]()
  %9 : Tensor = aten::add(%x, %7, %8)
  %10 : int = prim::Constant[value=2]()
  %11 : int[] = prim::ListConstruct(%10)
  %12 : int = prim::Constant[value=1]()
  %13 : int[] = prim::ListConstruct(%12)
  %14 : NoneType = prim::Constant()
  %15 : Tensor = aten::as_strided(%9, %11, %13, %14)
  %16 : (Tensor, Tensor) = prim::TupleConstruct(%17, %15)
  return (%16)
