# run: compile, functionalize, tidy-functional, reinplace
# What is written to parts of an argument, and read from it, is written there.
def f(cache, new, at):
  keys = cache[0]
  keys.index_copy_(1, at, new)
  cache[1].mul_(2)
  return keys.sum()
# ---- expect
graph(%cache : Tensor,
      %new : Tensor,
      %at : Tensor):
  %13 : NoneType = prim::Constant()
  %11 : int = prim::Constant[value=2]()
  %15 : bool = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=0]()
  %keys.1 : Tensor = aten::select(%cache, %3, %3)
   = cresset::check_overlap(%keys.1, %at, %15)
   = cresset::check_overlap(%keys.1, %new, %15)
  %17 : Tensor = cresset::index_copy(%keys.1, %6, %at, %new)
  %18 : Tensor = aten::select_scatter(%cache, %17, %3, %3)
  %10 : Tensor = aten::select(%18, %3, %6)
  %19 : Tensor = cresset::mul(%10, %11)
  %20 : Tensor = cresset::select_assign(%18, %19, %3, %6)
  %keys : Tensor = aten::select(%20, %3, %3)
  %14 : Tensor = aten::sum(%keys, %13)
  %23 : Tensor = aten::copy_(%cache, %20, %15)
  return (%14)
