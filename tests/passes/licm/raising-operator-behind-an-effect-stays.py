# run: compile, pool-constants, constant-propagation, licm
def f(a: int, b: int):
  t = 0
  for i in range(100):
    print(i)
    t = t + a // b
  return t
# ---- expect
graph(%a : int,
      %b : int):
  %t.1 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=100]()
  %4 : bool = prim::Constant[value=1]()
  %t : int = prim::Loop(%3, %4, %t.1)
    block0(%i : int, %t.2 : int):
       = prim::Print(%i)
      %8 : int = aten::floordiv(%a, %b)
      %t.3 : int = aten::add(%t.2, %8)
      -> (%4, %t.3)
  return (%t)
