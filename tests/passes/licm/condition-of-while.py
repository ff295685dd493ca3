# run: compile, pool-constants, licm
def f(a: int, n: int):
  i = 0
  while i < a * n:
    i = i + a * n
  return i
# ---- expect
graph(%a : int,
      %n : int):
  %i.1 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=9223372036854775807]()
  %4 : int = aten::mul(%a, %n)
  %5 : bool = aten::lt(%i.1, %4)
  %8 : int = aten::mul(%a, %n)
  %10 : int = aten::mul(%a, %n)
  %i : int = prim::Loop(%3, %5, %i.1)
    block0(%6 : int, %i.2 : int):
      %i.3 : int = aten::add(%i.2, %8)
      %11 : bool = aten::lt(%i.3, %10)
      -> (%11, %i.3)
  return (%i)
