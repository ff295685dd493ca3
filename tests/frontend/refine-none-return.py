# run: compile
def f(x: Optional[int]):
  if x is None:
    return 0
  return x + 1
# ---- expect
graph(%x.1 : int?):
  %1 : NoneType = prim::Constant()
  %2 : bool = aten::__is__(%x.1, %1)
  %7 : int = prim::If(%2)
    block0():
      %3 : int = prim::Constant[value=0]()
      -> (%3)
    block1():
      %x : int = prim::unchecked_cast(%x.1)
      %5 : int = prim::Constant[value=1]()
      %6 : int = aten::add(%x, %5)
      -> (%6)
  return (%7)
