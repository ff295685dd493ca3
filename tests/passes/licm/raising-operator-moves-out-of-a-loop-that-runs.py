# run: compile, pool-constants, constant-propagation, licm
def f(a: int, b: int):
  t = 0
  for i in range(100):
    t = t + a // b
  return t
# ---- expect
graph(%a : int,
      %b : int):
  %t.1 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=100]()
  %4 : bool = prim::Constant[value=1]()
  %7 : int = aten::floordiv(%a, %b)
  %t : int = prim::Loop(%3, %4, %t.1)
    block0(%i : int, %t.2 : int):
      %t.3 : int = aten::add(%t.2, %7)
      -> (%4, %t.3)
  return (%t)
