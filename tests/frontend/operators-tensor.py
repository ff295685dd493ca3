# run: compile
def f(x, y):
  return x + y, x - 2, 3 * x, x / y, x @ y, x ** 2, ~x, -x, x == y, x < 1
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::add(%x, %y, %2)
  %4 : int = prim::Constant[value=2]()
  %5 : int = prim::Constant[value=1]()
  %6 : Tensor = aten::sub(%x, %4, %5)
  %7 : int = prim::Constant[value=3]()
  %8 : Tensor = aten::mul(%x, %7)
  %9 : Tensor = aten::div(%x, %y)
  %10 : Tensor = aten::matmul(%x, %y)
  %11 : int = prim::Constant[value=2]()
  %12 : Tensor = aten::pow(%x, %11)
  %13 : Tensor = aten::bitwise_not(%x)
  %14 : Tensor = aten::neg(%x)
  %15 : Tensor = aten::eq(%x, %y)
  %16 : int = prim::Constant[value=1]()
  %17 : Tensor = aten::lt(%x, %16)
  %18 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%3, %6, %8, %9, %10, %12, %13, %14, %15, %17)
  return (%18)
