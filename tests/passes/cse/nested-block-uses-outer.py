# run: compile, pool-constants, cse
def f(n: int, k: int):
  a = n * n
  for i in range(k):
    for j in range(i):
      a = a + n * n
  return a
# ---- expect
graph(%n : int,
      %k : int):
  %3 : bool = prim::Constant[value=1]()
  %a.1 : int = aten::mul(%n, %n)
  %a : int = prim::Loop(%k, %3, %a.1)
    block0(%i : int, %a.2 : int):
      %a.5 : int = prim::Loop(%i, %3, %a.2)
        block0(%j : int, %a.3 : int):
          %a.4 : int = aten::add(%a.3, %a.1)
          -> (%3, %a.4)
      -> (%3, %a.5)
  return (%a)
