# run: compile, unroll, dce
def f(x, n: int):
  for i in range(3):
    if i == n:
      break
    x = x + i
  return x
# ---- expect
graph(%x.1 : Tensor,
      %n : int):
  %2 : int = prim::Constant[value=3]()
  %3 : bool = prim::Constant[value=1]()
  %x : Tensor = prim::Loop(%2, %3, %x.1)
    block0(%i : int, %x.2 : Tensor):
      %6 : bool = aten::eq(%i, %n)
      %x.4 : Tensor, %12 : bool = prim::If(%6)
        block0():
          %10 : bool = prim::Constant[value=0]()
          -> (%x.2, %10)
        block1():
          %7 : int = prim::Constant[value=1]()
          %x.3 : Tensor = aten::add(%x.2, %i, %7)
          %11 : bool = prim::Constant[value=1]()
          -> (%x.3, %11)
      -> (%12, %x.4)
  return (%x)
