# run: compile
def f(x: Optional[int]) -> int:
  if x is None:
    raise ValueError("none")
  return x
# ---- expect
graph(%x.1 : int?):
  %1 : NoneType = prim::Constant()
  %2 : bool = aten::__is__(%x.1, %1)
  %x : int = prim::If(%2)
    block0():
      %3 : str = prim::Constant[value="none"]()
      %4 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%3, %4)
      %6 : int = prim::Uninitialized()
      -> (%6)
    block1():
      %x.2 : int = prim::unchecked_cast(%x.1)
      -> (%x.2)
  return (%x)
