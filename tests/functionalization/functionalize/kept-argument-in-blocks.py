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
  %10 : NoneType = prim::Constant()
  %11 : Tensor = aten::clone(%x, %10)
  %14 : Tensor = prim::Loop(%n, %2, %11)
    block0(%i : int, %12 : Tensor):
      %4 : NoneType = prim::Constant()
      %5 : Tensor = aten::sum(%12, %4)
      %13 : Tensor = cresset::mul(%12, %5)
      -> (%2, %13)
  %7 : NoneType = prim::Constant()
  %8 : Tensor = aten::sum(%14, %7)
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
  %10 : NoneType = prim::Constant()
  %11 : Tensor = aten::clone(%9, %10)
  %12 : Tensor = cresset::mul(%11, %6)
  %13 : bool = prim::Constant[value=0]()
  %14 : Tensor = aten::copy_(%x, %12, %13)
  return (%x)
