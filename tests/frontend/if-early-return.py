# run: compile
def f(x: int):
  if x > 1:
    return 1
  x = x + 1
  if x < -1:
    return 2
  return x
# ---- expect
graph(%x.1 : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = aten::gt(%x.1, %1)
  %10 : int = prim::If(%2)
    block0():
      %3 : int = prim::Constant[value=1]()
      -> (%3)
    block1():
      %4 : int = prim::Constant[value=1]()
      %x : int = aten::add(%x.1, %4)
      %6 : int = prim::Constant[value=-1]()
      %7 : bool = aten::lt(%x, %6)
      %9 : int = prim::If(%7)
        block0():
          %8 : int = prim::Constant[value=2]()
          -> (%8)
        block1():
          -> (%x)
      -> (%9)
  return (%10)
