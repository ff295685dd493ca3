# run: compile, inline
def g(x, n: int = 2):
  y = x * n
  return y
def f(x):
  y = g(x)
  return g(y, 3) + y
# ---- expect
# g
graph(%x : Tensor,
      %n : int):
  %y : Tensor = aten::mul(%x, %n)
  return (%y)
# f
graph(%x : Tensor):
  %2 : int = prim::Constant[value=2]()
  %y.2 : Tensor = aten::mul(%x, %2)
  %4 : int = prim::Constant[value=3]()
  %y : Tensor = aten::mul(%y.2, %4)
  %7 : int = prim::Constant[value=1]()
  %8 : Tensor = aten::add(%y, %y.2, %7)
  return (%8)
