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
  %19 : int = prim::If(%1)
    block0():
      %x.2 : int = prim::unchecked_cast(%x.1)
      %3 : int = prim::Constant[value=1]()
      %4 : int = aten::add(%x.2, %3)
      -> (%4)
    block1():
      %x.3 : str? = prim::unchecked_cast(%x.1)
      %6 : bool = prim::isinstance[types=[str]](%x.3)
      %14 : bool, %16 : int = prim::If(%6)
        block0():
          %x.4 : str = prim::unchecked_cast(%x.3)
          %8 : int = aten::len(%x.4)
          %12 : bool = prim::Constant[value=0]()
          -> (%12, %8)
        block1():
          %13 : bool = prim::Constant[value=1]()
          %15 : int = prim::Uninitialized()
          -> (%13, %15)
      %18 : int = prim::If(%14)
        block0():
          %17 : int = prim::Constant[value=0]()
          -> (%17)
        block1():
          -> (%16)
      -> (%18)
  return (%19)
