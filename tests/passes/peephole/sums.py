# run: compile, peephole, dce
# Constants of sums are added; ints wrap around, so the order is no matter.
def f(n: int, v: float):
  a = (n + 3) - 1
  b = 5 + (n - 5)
  c = n + 0
  d = 0 + n
  e = 1 * n
  g = n // 1
  h = (2 + n) + 9223372036854775807
  return a, b, c, d, e, g, h, v + 0.0, 0 - n, n * 0
# ---- expect
graph(%n : int,
      %v : float):
  %29 : int = prim::Constant[value=2]()
  %30 : int = aten::add(%n, %29)
  %33 : int = prim::Constant[value=-9223372036854775807]()
  %34 : int = aten::add(%n, %33)
  %22 : float = prim::Constant[value=0.]()
  %23 : float = aten::add(%v, %22)
  %24 : int = prim::Constant[value=0]()
  %25 : int = aten::sub(%24, %n)
  %26 : int = prim::Constant[value=0]()
  %27 : int = aten::mul(%n, %26)
  %28 : (int, int, int, int, int, int, int, float, int, int) = prim::TupleConstruct(%30, %n, %n, %n, %n, %n, %34, %23, %25, %27)
  return (%28)
