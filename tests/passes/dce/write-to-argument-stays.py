# run: compile, dce
def f(x, l: List[int]):
  x.add_(1)
  x[0].zero_()
  l.append(1)
  m: List[int] = []
  m.append(2)
  return 0
# ---- expect
graph(%x : Tensor,
      %l : int[]):
  %2 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=1]()
  %4 : Tensor = aten::add_(%x, %2, %3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=0]()
  %7 : Tensor = aten::select(%x, %6, %5)
  %8 : Tensor = aten::zero_(%7)
  %9 : int = prim::Constant[value=1]()
  %10 : int[] = aten::append(%l, %9)
  %14 : int = prim::Constant[value=0]()
  return (%14)
