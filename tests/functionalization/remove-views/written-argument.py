# run: compile, functionalize, remove-views, tidy-functional
# The write goes to the argument at the end; what is returned of it is a copy.
def f(x):
  row = x[1]
  row.add_(1)
  return x.sum(), row
# ---- expect
graph(%x : Tensor):
  %12 : bool = prim::Constant[value=0]()
  %7 : NoneType = prim::Constant()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=0]()
  %row : Tensor = aten::select_copy(%x, %2, %1)
  %10 : Tensor = cresset::add(%row, %1, %1)
  %11 : Tensor = aten::select_scatter(%x, %10, %2, %1)
  %8 : Tensor = aten::sum(%11, %7)
  %13 : Tensor = aten::copy_(%x, %11, %12)
  %row.2 : Tensor = aten::select_copy(%x, %2, %1)
  %9 : (Tensor, Tensor) = prim::TupleConstruct(%8, %row.2)
  return (%9)
