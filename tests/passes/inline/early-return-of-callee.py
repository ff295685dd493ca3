# run: compile, inline
def g(n: int) -> int:
  if n > 0:
    return n
  return -n
def f(n: int):
  return g(n) + 1
# ---- expect
# g
graph(%n : int):
  %1 : int = prim::Constant[value=0]()
  %2 : bool = aten::gt(%n, %1)
  %4 : int = prim::If(%2)
    block0():
      -> (%n)
    block1():
      %3 : int = aten::neg(%n)
      -> (%3)
  return (%4)
# f
graph(%n : int):
  %5 : int = prim::Constant[value=0]()
  %6 : bool = aten::gt(%n, %5)
  %7 : int = prim::If(%6)
    block0():
      -> (%n)
    block1():
      %8 : int = aten::neg(%n)
      -> (%8)
  %3 : int = prim::Constant[value=1]()
  %4 : int = aten::add(%7, %3)
  return (%4)
