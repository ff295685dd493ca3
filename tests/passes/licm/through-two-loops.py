# run: compile, pool-constants, licm
def f(a: int, n: int):
  t = 0
  for i in range(n):
    for j in range(n):
      t = t + a * a + i * a
  return t
# ---- expect
graph(%a : int,
      %n : int):
  %t.1 : int = prim::Constant[value=0]()
  %3 : bool = prim::Constant[value=1]()
  %9 : int = aten::mul(%a, %a)
  %t : int = prim::Loop(%n, %3, %t.1)
    block0(%i : int, %t.2 : int):
      %11 : int = aten::mul(%i, %a)
      %t.5 : int = prim::Loop(%n, %3, %t.2)
        block0(%j : int, %t.3 : int):
          %10 : int = aten::add(%t.3, %9)
          %t.4 : int = aten::add(%10, %11)
          -> (%3, %t.4)
      -> (%3, %t.5)
  return (%t)
