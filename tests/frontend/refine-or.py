# run: compile
def f(x: Optional[int]):
  if x is None or x > 3:
    return 0
  return x + 1
# ---- expect
graph(%x.1 : int?):
  %1 : NoneType = prim::Constant()
  %2 : bool = aten::__is__(%x.1, %1)
  %7 : bool = prim::If(%2)
    block0():
      %3 : bool = prim::Constant[value=1]()
      -> (%3)
    block1():
      %x.2 : int = prim::unchecked_cast(%x.1)
      %5 : int = prim::Constant[value=3]()
      %6 : bool = aten::gt(%x.2, %5)
      -> (%6)
  %12 : int = prim::If(%7)
    block0():
      %8 : int = prim::Constant[value=0]()
      -> (%8)
    block1():
      %x : int = prim::unchecked_cast(%x.1)
      %10 : int = prim::Constant[value=1]()
      %11 : int = aten::add(%x, %10)
      -> (%11)
  return (%12)
