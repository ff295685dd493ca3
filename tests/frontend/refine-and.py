# run: compile
def f(x: Optional[int], y: Optional[int]):
  if x is not None and y is not None and x > y:
    return x + y
  return 0
# ---- expect
graph(%x.1 : int?,
      %y.1 : int?):
  %2 : NoneType = prim::Constant()
  %3 : bool = aten::__isnot__(%x.1, %2)
  %8 : bool = prim::If(%3)
    block0():
      %5 : NoneType = prim::Constant()
      %6 : bool = aten::__isnot__(%y.1, %5)
      -> (%6)
    block1():
      %7 : bool = prim::Constant[value=0]()
      -> (%7)
  %13 : bool = prim::If(%8)
    block0():
      %y.2 : int = prim::unchecked_cast(%y.1)
      %x.3 : int = prim::unchecked_cast(%x.1)
      %11 : bool = aten::gt(%x.3, %y.2)
      -> (%11)
    block1():
      %12 : bool = prim::Constant[value=0]()
      -> (%12)
  %18 : int = prim::If(%13)
    block0():
      %y : int = prim::unchecked_cast(%y.1)
      %x : int = prim::unchecked_cast(%x.1)
      %16 : int = aten::add(%x, %y)
      -> (%16)
    block1():
      %17 : int = prim::Constant[value=0]()
      -> (%17)
  return (%18)
