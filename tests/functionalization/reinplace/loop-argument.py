# run: compile, functionalize, tidy-functional, reinplace
# The first iteration copies an argument; the others write to the copy.
def f(x, n: int):
  for i in range(n):
    x[i].add_(i)
  return x.sum()
# ---- expect
graph(%x : Tensor,
      %n : int):
  %8 : NoneType = prim::Constant()
  %6 : int = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=0]()
  %2 : bool = prim::Constant[value=1]()
  %13 : Tensor = prim::Loop(%n, %2, %x)
    block0(%i : int, %10 : Tensor):
      %15 : Tensor = cresset::apart_from(%10, %x)
      %5 : Tensor = aten::select(%15, %4, %i)
      %11 : Tensor = aten::add_(%5, %i, %6)
      -> (%2, %15)
  %9 : Tensor = aten::sum(%13, %8)
  %14 : Tensor = cresset::copy_if_written_(%x, %13)
  return (%9)
