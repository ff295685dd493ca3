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
  %20 : bool = prim::Constant[value=0]()
  %13 : NoneType = prim::Constant()
  %11 : int = prim::Constant[value=2]()
  %6 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=0]()
  %keys.1 : Tensor = aten::select(%cache, %3, %3)
  %15 : Tensor = cresset::index_copy(%keys.1, %6, %at, %new)
  %16 : Tensor = aten::select_scatter(%cache, %15, %3, %3)
  %10 : Tensor = aten::select(%16, %3, %6)
  %17 : Tensor = cresset::mul(%10, %11)
  %18 : Tensor = cresset::select_assign(%16, %17, %3, %6)
  %keys : Tensor = aten::select(%18, %3, %3)
  %14 : Tensor = aten::sum(%keys, %13)
  %21 : Tensor = aten::copy_(%cache, %18, %20)
  return (%14)
