# run: compile
def f(x: Union[int, str, None]):
  if isinstance(x, int):
    return x + 1
  elif isinstance(x, str):
    return len(x)
  return 0
# ---- expect
graph(%x.1 : Union(int, NoneType, str)):
  %1 : bool = prim::isinstance[types=[int]](%x.1)
  %18 : int = prim::If(%1)
    block0():
      %x.2 : int = prim::unchecked_cast(%x.1)
      %3 : int = prim::Constant[value=1]()
      %4 : int = aten::add(%x.2, %3)
      -> (%4)
    block1():
      %x.3 : str? = prim::unchecked_cast(%x.1)
      %6 : bool = prim::isinstance[types=[str]](%x.3)
      %13 : bool, %15 : int = prim::If(%6)
        block0():
          %x.4 : str = prim::unchecked_cast(%x.3)
          %8 : int = aten::len(%x.4)
          %11 : bool = prim::Constant[value=0]()
          -> (%11, %8)
        block1():
          %12 : bool = prim::Constant[value=1]()
          %14 : int = prim::Uninitialized()
          -> (%12, %14)
      %17 : int = prim::If(%13)
        block0():
          %16 : int = prim::Constant[value=0]()
          -> (%16)
        block1():
          -> (%15)
      -> (%17)
  return (%18)
