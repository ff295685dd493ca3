# run: compile
def f(flag: bool) -> Union[int, str, None]:
  x: Optional[Union[int, str]] = 1
  if flag:
    x = None
  return x
# ---- expect
graph(%flag : bool):
  %x.1 : int = prim::Constant[value=1]()
  %x : Union(int, NoneType, str) = prim::If(%flag)
    block0():
      %x.2 : NoneType = prim::Constant()
      -> (%x.2)
    block1():
      -> (%x.1)
  return (%x)
