# run: compile
def f(x: Optional[int]):
  return x if x is not None else 3
# ---- expect
graph(%x.1 : int?):
  %1 : NoneType = prim::Constant()
  %2 : bool = aten::__isnot__(%x.1, %1)
  %5 : int = prim::If(%2)
    block0():
      %x : int = prim::unchecked_cast(%x.1)
      -> (%x)
    block1():
      %4 : int = prim::Constant[value=3]()
      -> (%4)
  return (%5)
