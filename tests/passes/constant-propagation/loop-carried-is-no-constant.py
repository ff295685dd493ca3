# run: compile, constant-propagation, dce
# `k` is 1 in the first iteration only.
def f(n: int):
  k = 1
  t = 0
  for i in range(n):
    t = t + k * 2
    k = k + 1
  return t + k
# ---- expect
graph(%n : int):
  %k.1 : int = prim::Constant[value=1]()
  %t.1 : int = prim::Constant[value=0]()
  %3 : bool = prim::Constant[value=1]()
  %t : int, %k : int = prim::Loop(%n, %3, %t.1, %k.1)
    block0(%i : int, %t.2 : int, %k.2 : int):
      %7 : int = prim::Constant[value=2]()
      %8 : int = aten::mul(%k.2, %7)
      %t.3 : int = aten::add(%t.2, %8)
      %10 : int = prim::Constant[value=1]()
      %k.3 : int = aten::add(%k.2, %10)
      -> (%3, %t.3, %k.3)
  %14 : int = aten::add(%t, %k)
  return (%14)
