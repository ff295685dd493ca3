# run: compile
def f(a: Tuple[int, str], b: Tuple[float], n: int):
  c = a + b
  c += (n,)
  return c, a * 2, 2 * b, (1,) * n
# ---- expect
graph(%a : (int, str),
      %b : (float),
      %n : int):
  %3 : int, %4 : str = prim::TupleUnpack(%a)
  %5 : float = prim::TupleUnpack(%b)
  %c.1 : (int, str, float) = prim::TupleConstruct(%3, %4, %5)
  %7 : (int) = prim::TupleConstruct(%n)
  %8 : int, %9 : str, %10 : float = prim::TupleUnpack(%c.1)
  %11 : int = prim::TupleUnpack(%7)
  %c : (int, str, float, int) = prim::TupleConstruct(%8, %9, %10, %11)
  %14 : int, %15 : str = prim::TupleUnpack(%a)
  %16 : (int, str, int, str) = prim::TupleConstruct(%14, %15, %14, %15)
  %18 : float = prim::TupleUnpack(%b)
  %19 : (float, float) = prim::TupleConstruct(%18, %18)
  %20 : int = prim::Constant[value=1]()
  %22 : int[] = prim::ListConstruct(%20)
  %23 : int[] = aten::mul(%22, %n)
  %24 : ((int, str, float, int), (int, str, int, str), (float, float), int[]) = prim::TupleConstruct(%c, %16, %19, %23)
  return (%24)
