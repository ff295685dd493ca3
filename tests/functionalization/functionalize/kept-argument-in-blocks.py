# run: compile, functionalize
# One copy serves all iterations; after the branch, the value may be the argument still.
def loop(x, n: int):
  for i in range(n):
    x.mul_(x.sum())
  return x.mul_(x.sum())

def branch(x, c: bool):
  if c:
    x.add_(1)
  return x.mul_(x.sum())
# ---- expect
# loop
graph(%x : Tensor,
      %n : int):
  %2 : bool = prim::Constant[value=1]()
  %13 : Tensor = prim::Loop(%n, %2, %x)
    block0(%i : int, %10 : Tensor):
      %4 : NoneType = prim::Constant()
      %5 : Tensor = aten::sum(%10, %4)
      %11 : Tensor = cresset::apart_from(%10, %x)
      %12 : Tensor = cresset::mul(%11, %5)
      -> (%2, %12)
  %7 : NoneType = prim::Constant()
  %8 : Tensor = aten::sum(%13, %7)
  %14 : Tensor = cresset::apart_from(%13, %x)
  %15 : Tensor = cresset::mul(%14, %8)
  %16 : bool = prim::Constant[value=0]()
  %17 : Tensor = aten::copy_(%x, %15, %16)
  return (%x)
# branch
graph(%x : Tensor,
      %c : bool):
  %9 : Tensor = prim::If(%c)
    block0():
      %2 : int = prim::Constant[value=1]()
      %3 : int = prim::Constant[value=1]()
      %8 : Tensor = cresset::add(%x, %2, %3)
      -> (%8)
    block1():
      -> (%x)
  %5 : NoneType = prim::Constant()
  %6 : Tensor = aten::sum(%9, %5)
  %10 : Tensor = cresset::apart_from(%9, %x)
  %11 : Tensor = cresset::mul(%10, %6)
  %12 : bool = prim::Constant[value=0]()
  %13 : Tensor = aten::copy_(%x, %11, %12)
  return (%x)
