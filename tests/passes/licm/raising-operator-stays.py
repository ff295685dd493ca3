# run: compile, pool-constants, licm
# The loop may have no iteration.
def f(a: int, b: int, n: int):
  t = 0
  for i in range(n):
    t = t + a // b
  return t
# ---- expect
graph(%a : int,
      %b : int,
      %n : int):
  %t.1 : int = prim::Constant[value=0]()
  %4 : bool = prim::Constant[value=1]()
  %t : int = prim::Loop(%n, %4, %t.1)
    block0(%i : int, %t.2 : int):
      %7 : int = aten::floordiv(%a, %b)
      %t.3 : int = aten::add(%t.2, %7)
      -> (%4, %t.3)
  return (%t)
