# run: compile
def f(x: bool):
  if x and False:
    return this_is_not_compiled
  return 1
def g(x: bool):
  if x or True:
    return 2
  return nor_is_this
def h(x: bool):
  return 1 if x and True else 2
# ---- expect
# f
graph(%x : bool):
  %5 : int = prim::Constant[value=1]()
  return (%5)
# g
graph(%x : bool):
  %5 : int = prim::Constant[value=2]()
  return (%5)
# h
graph(%x : bool):
  %4 : bool = prim::If(%x)
    block0():
      %2 : bool = prim::Constant[value=1]()
      -> (%2)
    block1():
      %3 : bool = prim::Constant[value=0]()
      -> (%3)
  %7 : int = prim::If(%4)
    block0():
      %5 : int = prim::Constant[value=1]()
      -> (%5)
    block1():
      %6 : int = prim::Constant[value=2]()
      -> (%6)
  return (%7)
