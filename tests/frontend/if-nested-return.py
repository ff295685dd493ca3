# run: compile
# The inner return leaves the rest of both ifs.
def f(x: int, y: int):
  if x > 1:
    if y > 1:
      return 1
    x = x + y
  return x
# ---- expect
graph(%x.1 : int,
      %y : int):
  %2 : int = prim::Constant[value=1]()
  %3 : bool = aten::gt(%x.1, %2)
  %x : int, %17 : bool, %19 : int = prim::If(%3)
    block0():
      %4 : int = prim::Constant[value=1]()
      %5 : bool = aten::gt(%y, %4)
      %x.3 : int, %12 : bool, %14 : int = prim::If(%5)
        block0():
          %6 : int = prim::Constant[value=1]()
          %8 : int = prim::Uninitialized()
          %10 : bool = prim::Constant[value=0]()
          -> (%8, %10, %6)
        block1():
          %x.2 : int = aten::add(%x.1, %y)
          %11 : bool = prim::Constant[value=1]()
          %13 : int = prim::Uninitialized()
          -> (%x.2, %11, %13)
      -> (%x.3, %12, %14)
    block1():
      %16 : bool = prim::Constant[value=1]()
      %18 : int = prim::Uninitialized()
      -> (%x.1, %16, %18)
  %20 : int = prim::If(%17)
    block0():
      -> (%x)
    block1():
      -> (%19)
  return (%20)
