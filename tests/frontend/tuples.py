# run: compile
def f(x: Tuple[int, str, float], i: int):
  a, *b = x
  (c, d), e = (1, 2), x[-1]
  return a, b, c + d, e, x[1:], x[::-1], (1, 2, 3)[i]
# ---- expect
graph(%x : (int, str, float),
      %i : int):
  %a : int, %3 : str, %4 : float = prim::TupleUnpack(%x)
  %b : (str, float) = prim::TupleConstruct(%3, %4)
  %6 : int = prim::Constant[value=1]()
  %7 : int = prim::Constant[value=2]()
  %8 : (int, int) = prim::TupleConstruct(%6, %7)
  %9 : int = prim::Constant[value=-1]()
  %10 : float = prim::TupleIndex(%x, %9)
  %11 : ((int, int), float) = prim::TupleConstruct(%8, %10)
  %12 : (int, int), %e : float = prim::TupleUnpack(%11)
  %c : int, %d : int = prim::TupleUnpack(%12)
  %16 : int = aten::add(%c, %d)
  %18 : (str, float) = prim::TupleSlice[beg=1, end=3](%x)
  %20 : int = prim::Constant[value=2]()
  %21 : float = prim::TupleIndex(%x, %20)
  %22 : int = prim::Constant[value=1]()
  %23 : str = prim::TupleIndex(%x, %22)
  %24 : int = prim::Constant[value=0]()
  %25 : int = prim::TupleIndex(%x, %24)
  %26 : (float, str, int) = prim::TupleConstruct(%21, %23, %25)
  %27 : int = prim::Constant[value=1]()
  %28 : int = prim::Constant[value=2]()
  %29 : int = prim::Constant[value=3]()
  %30 : (int, int, int) = prim::TupleConstruct(%27, %28, %29)
  %31 : int = prim::TupleIndex(%30, %i)
  %32 : (int, (str, float), int, float, (str, float), (float, str, int), int) = prim::TupleConstruct(%a, %b, %16, %e, %18, %26, %31)
  return (%32)
