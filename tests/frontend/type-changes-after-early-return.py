# run: compile
def f(x: int):
  a = None
  if x > 3:
    return 1
  a = x
  return a
def g(x: int):
  a = "s"
  for i in range(x):
    return 1
  a = 2
  return a
# ---- expect
# f
graph(%x : int):
  %2 : int = prim::Constant[value=3]()
  %3 : bool = aten::gt(%x, %2)
  %5 : int = prim::If(%3)
    block0():
      %4 : int = prim::Constant[value=1]()
      -> (%4)
    block1():
      -> (%x)
  return (%5)
# g
graph(%x : int):
  %2 : bool = prim::Constant[value=1]()
  %6 : bool = prim::Constant[value=1]()
  %7 : int = prim::Uninitialized()
  %11 : bool, %12 : int = prim::Loop(%x, %2, %6, %7)
    block0(%i : int, %8 : bool, %9 : int):
      %4 : int = prim::Constant[value=1]()
      %5 : bool = prim::Constant[value=0]()
      %10 : bool = prim::Constant[value=0]()
      -> (%5, %10, %4)
  %14 : int = prim::If(%11)
    block0():
      %a : int = prim::Constant[value=2]()
      -> (%a)
    block1():
      -> (%12)
  return (%14)
