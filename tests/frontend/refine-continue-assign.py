# run: compile
def f(x: Union[float, List[int]], b: bool):
  for i in range(3):
    if isinstance(x, float):
      print(x + 1.5)
    else:
      continue
    if b:
      x = [1]
  return x
def g(x: Optional[int], n: int):
  for i in range(n):
    if x is None:
      break
    print(x + 1)
    for j in range(n):
      x = None
def h(x: Optional[int], n: int):
  while x is not None:
    print(x + 1)
    if x > n:
      x = None
# ---- expect
# f
graph(%x.1 : Union(int[], float),
      %b : bool):
  %2 : int = prim::Constant[value=3]()
  %3 : bool = prim::Constant[value=1]()
  %x : Union(int[], float) = prim::Loop(%2, %3, %x.1)
    block0(%i : int, %x.2 : Union(int[], float)):
      %6 : bool = prim::isinstance[types=[float]](%x.2)
      %x.7 : Union(int[], float) = prim::If(%6)
        block0():
          %x.3 : float = prim::unchecked_cast(%x.2)
          %8 : float = prim::Constant[value=1.5]()
          %9 : float = aten::add(%x.3, %8)
           = prim::Print(%9)
          %x.6 : Union(int[], float) = prim::If(%b)
            block0():
              %12 : int = prim::Constant[value=1]()
              %x.5 : int[] = prim::ListConstruct(%12)
              -> (%x.5)
            block1():
              -> (%x.3)
          -> (%x.6)
        block1():
          %x.4 : int[] = prim::unchecked_cast(%x.2)
          -> (%x.4)
      -> (%3, %x.7)
  return (%x)
# g
graph(%x.1 : int?,
      %n : int):
  %2 : bool = prim::Constant[value=1]()
  %x : int? = prim::Loop(%n, %2, %x.1)
    block0(%i : int, %x.2 : int?):
      %5 : NoneType = prim::Constant()
      %6 : bool = aten::__is__(%x.2, %5)
      %x.7 : int?, %19 : bool = prim::If(%6)
        block0():
          %17 : bool = prim::Constant[value=0]()
          -> (%x.2, %17)
        block1():
          %x.3 : int = prim::unchecked_cast(%x.2)
          %8 : int = prim::Constant[value=1]()
          %9 : int = aten::add(%x.3, %8)
           = prim::Print(%9)
          %11 : bool = prim::Constant[value=1]()
          %x.6 : int? = prim::Loop(%n, %11, %x.3)
            block0(%j : int, %x.4 : int?):
              %x.5 : NoneType = prim::Constant()
              -> (%11, %x.5)
          %18 : bool = prim::Constant[value=1]()
          -> (%x.6, %18)
      -> (%19, %x.7)
  %21 : NoneType = prim::Constant()
  return (%21)
# h
graph(%x.1 : int?,
      %n : int):
  %2 : int = prim::Constant[value=9223372036854775807]()
  %3 : NoneType = prim::Constant()
  %4 : bool = aten::__isnot__(%x.1, %3)
  %x : int? = prim::Loop(%2, %4, %x.1)
    block0(%5 : int, %x.2 : int?):
      %x.3 : int = prim::unchecked_cast(%x.2)
      %8 : int = prim::Constant[value=1]()
      %9 : int = aten::add(%x.3, %8)
       = prim::Print(%9)
      %11 : bool = aten::gt(%x.3, %n)
      %x.5 : int? = prim::If(%11)
        block0():
          %x.4 : NoneType = prim::Constant()
          -> (%x.4)
        block1():
          -> (%x.3)
      %14 : NoneType = prim::Constant()
      %15 : bool = aten::__isnot__(%x.5, %14)
      -> (%15, %x.5)
  %17 : NoneType = prim::Constant()
  return (%17)
