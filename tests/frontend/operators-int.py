# run: compile
def f(x: int, y: int):
  return x + y, x - y, x * y, x / y, x // y, x % y, x ** y, x << y, x >> y, x & y, x | y, x ^ y, -x
# ---- expect
graph(%x : int,
      %y : int):
  %2 : int = aten::add(%x, %y)
  %3 : int = aten::sub(%x, %y)
  %4 : int = aten::mul(%x, %y)
  %5 : float = aten::div(%x, %y)
  %6 : int = aten::floordiv(%x, %y)
  %7 : int = aten::remainder(%x, %y)
  %8 : float = aten::pow(%x, %y)
  %9 : int = aten::__lshift__(%x, %y)
  %10 : int = aten::__rshift__(%x, %y)
  %11 : int = aten::__and__(%x, %y)
  %12 : int = aten::__or__(%x, %y)
  %13 : int = aten::__xor__(%x, %y)
  %14 : int = aten::neg(%x)
  %15 : (int, int, int, float, int, int, float, int, int, int, int, int, int) = prim::TupleConstruct(%2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14)
  return (%15)
