# run: compile
def f(x: Tensor, xs: List[int], n: int):
  s = slice(1, n)
  t = (..., s, None)
  x[t] = 0
  return x[t], xs[s], x[Ellipsis, 0], s.start
# ---- expect
graph(%x : Tensor,
      %xs : int[],
      %n : int):
  %3 : int = prim::Constant[value=1]()
  %5 : int = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=-1]()
  %7 : int = prim::Constant[value=1]()
  %8 : Tensor = aten::slice(%x, %6, %3, %n, %7)
  %9 : int = prim::Constant[value=-1]()
  %10 : Tensor = aten::unsqueeze(%8, %9)
  %11 : int = prim::dtype(%10)
  %12 : Device = prim::device(%10)
  %13 : bool = prim::Constant[value=0]()
  %14 : Tensor = aten::tensor(%5, %11, %12, %13)
  %15 : bool = prim::Constant[value=0]()
  %16 : Tensor = aten::copy_(%10, %14, %15)
  %17 : int = prim::Constant[value=-1]()
  %18 : int = prim::Constant[value=1]()
  %19 : Tensor = aten::slice(%x, %17, %3, %n, %18)
  %20 : int = prim::Constant[value=-1]()
  %21 : Tensor = aten::unsqueeze(%19, %20)
  %22 : int = prim::Constant[value=1]()
  %23 : int[] = aten::slice(%xs, %3, %n, %22)
  %24 : int = prim::Constant[value=0]()
  %25 : int = prim::Constant[value=-1]()
  %26 : Tensor = aten::select(%x, %25, %24)
  %27 : (Tensor, int[], Tensor, int) = prim::TupleConstruct(%21, %23, %26, %3)
  return (%27)
