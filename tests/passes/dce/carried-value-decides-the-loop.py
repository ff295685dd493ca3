# run: compile, dce
def f(n: int):
  a = 0
  k = 0
  while a < n:
    a = a + 2
    k = k + 1
  return k
# ---- expect
graph(%n : int):
  %a.1 : int = prim::Constant[value=0]()
  %k.1 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=9223372036854775807]()
  %4 : bool = aten::lt(%a.1, %n)
  %a : int, %k : int = prim::Loop(%3, %4, %a.1, %k.1)
    block0(%5 : int, %a.2 : int, %k.2 : int):
      %8 : int = prim::Constant[value=2]()
      %a.3 : int = aten::add(%a.2, %8)
      %10 : int = prim::Constant[value=1]()
      %k.3 : int = aten::add(%k.2, %10)
      %12 : bool = aten::lt(%a.3, %n)
      -> (%12, %a.3, %k.3)
  return (%k)
