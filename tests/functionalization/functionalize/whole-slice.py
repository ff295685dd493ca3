# run: compile, functionalize, tidy-functional
# What a slice of a whole dimension becomes is what the tensor becomes.
def f(cache, x, position: int):
  cache[:, :, position:position + 1] = x
  return cache * 2
# ---- expect
graph(%cache : Tensor,
      %x : Tensor,
      %position : int):
  %22 : bool = prim::Constant[value=1]()
  %18 : bool = prim::Constant[value=0]()
  %15 : int = prim::Constant[value=2]()
  %6 : NoneType = prim::Constant()
  %5 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=1]()
  %4 : int = aten::add(%position, %3)
  %9 : Tensor = aten::slice(%cache, %5, %6, %6, %3)
  %14 : Tensor = aten::slice(%cache, %3, %6, %6, %3)
  %17 : Tensor = aten::slice(%cache, %15, %position, %4, %3)
   = cresset::check_overlap(%17, %x, %22)
  %23 : Tensor = cresset::copy(%17, %x, %18)
  %24 : Tensor = aten::slice_scatter(%cache, %23, %15, %position, %4, %3)
  %21 : Tensor = aten::mul(%24, %15)
  %26 : Tensor = aten::copy_(%cache, %24, %18)
  return (%21)
