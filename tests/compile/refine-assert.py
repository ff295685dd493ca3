# run: compile
def f(x: Optional[Tensor]):
  assert x is not None
  return x + 1
# ---- expect
graph(%x.1 : Tensor?):
  %1 : NoneType = prim::Constant()
  %2 : bool = aten::__isnot__(%x.1, %1)
   = prim::If(%2)
    block0():
      -> ()
    block1():
      %4 : str = prim::Constant[value="AssertionError: "]()
      %5 : NoneType = prim::Constant()
       = prim::RaiseException(%4, %5)
      -> ()
  %x : Tensor = prim::unchecked_cast(%x.1)
  %7 : int = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=1]()
  %9 : Tensor = aten::add(%x, %7, %8)
  return (%9)
