# run: compile
def f(x, n: int, b: bool, z: float):
  return +x, +n, +b, +z, +1, +-2, x + +x * -n
# ---- expect
graph(%x : Tensor,
      %n : int,
      %b : bool,
      %z : float):
  %4 : Tensor = aten::positive(%x)
  %5 : int = aten::Int(%b)
  %6 : int = prim::Constant[value=1]()
  %7 : int = prim::Constant[value=-2]()
  %8 : Tensor = aten::positive(%x)
  %9 : int = aten::neg(%n)
  %10 : Tensor = aten::mul(%8, %9)
  %11 : int = prim::Constant[value=1]()
  %12 : Tensor = aten::add(%x, %10, %11)
  %13 : (Tensor, int, int, float, int, int, Tensor) = prim::TupleConstruct(%4, %n, %5, %z, %6, %7, %12)
  return (%13)
