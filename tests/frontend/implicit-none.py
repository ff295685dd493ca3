# run: compile
def f(x: int):
  if x > 1:
    return x
# ---- expect
graph(%x : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = aten::gt(%x, %1)
  %5 : bool, %7 : int = prim::If(%2)
    block0():
      %3 : bool = prim::Constant[value=0]()
      -> (%3, %x)
    block1():
      %4 : bool = prim::Constant[value=1]()
      %6 : int = prim::Uninitialized()
      -> (%4, %6)
  %9 : int? = prim::If(%5)
    block0():
      %8 : NoneType = prim::Constant()
      -> (%8)
    block1():
      -> (%7)
  return (%9)
