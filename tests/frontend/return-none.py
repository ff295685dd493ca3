# run: compile
def f(x: int) -> None:
  if x > 1:
    return
  print(x)
# ---- expect
graph(%x : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = aten::gt(%x, %1)
  %7 : bool, %9 : NoneType = prim::If(%2)
    block0():
      %3 : NoneType = prim::Constant()
      %5 : bool = prim::Constant[value=0]()
      -> (%5, %3)
    block1():
       = prim::Print(%x)
      %6 : bool = prim::Constant[value=1]()
      %8 : NoneType = prim::Uninitialized()
      -> (%6, %8)
  %11 : NoneType = prim::If(%7)
    block0():
      %10 : NoneType = prim::Constant()
      -> (%10)
    block1():
      -> (%9)
  return (%11)
