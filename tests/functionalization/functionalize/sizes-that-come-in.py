# run: compile, functionalize
def f(x, sizes: List[int]):
  y = x * 2
  y.view(sizes).add_(1)
  return y
# ---- expect
graph(%x : Tensor,
      %sizes : int[]):
  %2 : int = prim::Constant[value=2]()
  %y : Tensor = aten::mul(%x, %2)
  %4 : Tensor = aten::view(%y, %sizes)
  %5 : int = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=1]()
  %8 : Tensor = cresset::add(%4, %5, %6)
  %9 : int[] = aten::size(%y)
  %10 : Tensor = aten::reshape(%8, %9)
  return (%10)
