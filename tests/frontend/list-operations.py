# run: compile
def f(x: List[int]):
  x[0] = 3
  x[1] += 4
  del x[1]
  x += [2]
  return x[1:3], x[::2], x[-1], 3 in x, len(x)
# ---- expect
graph(%x.1 : int[]):
  %1 : int = prim::Constant[value=3]()
  %2 : int = prim::Constant[value=0]()
  %3 : int[] = aten::_set_item(%x.1, %2, %1)
  %4 : int = prim::Constant[value=1]()
  %5 : int = aten::__getitem__(%x.1, %4)
  %6 : int = prim::Constant[value=4]()
  %7 : int = aten::add(%5, %6)
  %8 : int[] = aten::_set_item(%x.1, %4, %7)
  %9 : int = prim::Constant[value=1]()
   = aten::Delete(%x.1, %9)
  %11 : int = prim::Constant[value=2]()
  %12 : int[] = prim::ListConstruct(%11)
  %x : int[] = aten::add_(%x.1, %12)
  %14 : int = prim::Constant[value=1]()
  %15 : int = prim::Constant[value=3]()
  %16 : int = prim::Constant[value=1]()
  %17 : int[] = aten::slice(%x, %14, %15, %16)
  %18 : int = prim::Constant[value=2]()
  %19 : NoneType = prim::Constant()
  %20 : NoneType = prim::Constant()
  %21 : int[] = aten::slice(%x, %19, %20, %18)
  %22 : int = prim::Constant[value=-1]()
  %23 : int = aten::__getitem__(%x, %22)
  %24 : int = prim::Constant[value=3]()
  %25 : bool = aten::__contains__(%x, %24)
  %26 : int = aten::len(%x)
  %27 : (int[], int[], int, bool, int) = prim::TupleConstruct(%17, %21, %23, %25, %26)
  return (%27)
