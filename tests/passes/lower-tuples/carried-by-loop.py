# run: compile, lower-tuples, dce
def f(x, n: int):
  t = (x, 0)
  for i in range(n):
    t = (t[0] + i, t[1] + 1)
  return t[0], t[1]
# ---- expect
graph(%x : Tensor,
      %n : int):
  %2 : int = prim::Constant[value=0]()
  %4 : bool = prim::Constant[value=1]()
  %29 : Tensor, %30 : int = prim::Loop(%n, %4, %x, %2)
    block0(%i : int, %26 : Tensor, %27 : int):
      %9 : int = prim::Constant[value=1]()
      %10 : Tensor = aten::add(%26, %i, %9)
      %13 : int = prim::Constant[value=1]()
      %14 : int = aten::add(%27, %13)
      -> (%4, %10, %14)
  %21 : (Tensor, int) = prim::TupleConstruct(%29, %30)
  return (%21)
