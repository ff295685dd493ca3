# run: compile, canonicalize
def f(x, n: int):
  y = x
  if n > 0:
    y = y + 1
  for i in range(n):
    y = y * i
  return y
# ---- expect
graph(%0 : Tensor,
      %1 : int):
  %2 : int = prim::Constant[value=0]()
  %3 : bool = aten::gt(%1, %2)
  %4 : Tensor = prim::If(%3)
    block0():
      %5 : int = prim::Constant[value=1]()
      %6 : int = prim::Constant[value=1]()
      %7 : Tensor = aten::add(%0, %5, %6)
      -> (%7)
    block1():
      -> (%0)
  %8 : bool = prim::Constant[value=1]()
  %9 : Tensor = prim::Loop(%1, %8, %4)
    block0(%10 : int, %11 : Tensor):
      %12 : Tensor = aten::mul(%11, %10)
      -> (%8, %12)
  return (%9)
