# run: compile, pool-constants, licm
# What only one branch computes stays there if it may raise.
def f(a: int, b: int, n: int):
  t = 0
  for i in range(n):
    if i > 3:
      t = t + a // b
    else:
      t = t + a * b
  return t
# ---- expect
graph(%a : int,
      %b : int,
      %n : int):
  %7 : int = prim::Constant[value=3]()
  %t.1 : int = prim::Constant[value=0]()
  %4 : bool = prim::Constant[value=1]()
  %t : int = prim::Loop(%n, %4, %t.1)
    block0(%i : int, %t.2 : int):
      %8 : bool = aten::gt(%i, %7)
      %t.5 : int = prim::If(%8)
        block0():
          %9 : int = aten::floordiv(%a, %b)
          %t.3 : int = aten::add(%t.2, %9)
          -> (%t.3)
        block1():
          %11 : int = aten::mul(%a, %b)
          %t.4 : int = aten::add(%t.2, %11)
          -> (%t.4)
      -> (%4, %t.5)
  return (%t)
