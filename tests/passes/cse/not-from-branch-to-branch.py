# run: compile, pool-constants, cse
def f(n: int, c: bool):
  if c:
    a = n * n
  else:
    a = n * n + 1
  return a + n * n
# ---- expect
graph(%n : int,
      %c : bool):
  %4 : int = prim::Constant[value=1]()
  %a : int = prim::If(%c)
    block0():
      %a.1 : int = aten::mul(%n, %n)
      -> (%a.1)
    block1():
      %3 : int = aten::mul(%n, %n)
      %a.2 : int = aten::add(%3, %4)
      -> (%a.2)
  %7 : int = aten::mul(%n, %n)
  %8 : int = aten::add(%a, %7)
  return (%8)
