# run: compile
def f(x: float, n: int):
    return math.floor(x), math.sqrt(x), math.log(x, 2.0), math.gcd(n, 6), math.remainder(x, 2.0), math.pow(x, 2.0)
# ---- expect
graph(%x : float,
      %n : int):
  %2 : int = aten::floor(%x)
  %3 : float = aten::sqrt(%x)
  %4 : float = prim::Constant[value=2.]()
  %5 : float = aten::log(%x, %4)
  %6 : int = prim::Constant[value=6]()
  %7 : int = aten::gcd(%n, %6)
  %8 : float = prim::Constant[value=2.]()
  %9 : float = aten::mathremainder(%x, %8)
  %10 : float = prim::Constant[value=2.]()
  %11 : float = aten::pow(%x, %10)
  %12 : (int, float, float, int, float, float) = prim::TupleConstruct(%2, %3, %5, %7, %9, %11)
  return (%12)
