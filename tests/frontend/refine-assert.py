# run: compile
def f(x: Optional[Tensor]):
  assert x is not None
  return x + 1
# ---- expect
graph(%x.1 : Tensor?):
  %1 : NoneType = prim::Constant()
  %2 : bool = aten::__isnot__(%x.1, %1)
  %x : Tensor = prim::If(%2)
    block0():
      %x.2 : Tensor = prim::unchecked_cast(%x.1)
      -> (%x.2)
    block1():
      %4 : str = prim::Constant[value="AssertionError: "]()
      %5 : NoneType = prim::Constant()
       = prim::RaiseException(%4, %5)
      %6 : Tensor = prim::Uninitialized()
      -> (%6)
  %8 : int = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=1]()
  %10 : Tensor = aten::add(%x, %8, %9)
  return (%10)
