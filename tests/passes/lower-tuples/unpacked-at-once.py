# run: compile, lower-tuples, dce
def f(x, y):
  t = (x, (y, 3))
  a, (b, n) = t
  return a, b * n
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=3]()
  %9 : Tensor = aten::mul(%y, %2)
  %10 : (Tensor, Tensor) = prim::TupleConstruct(%x, %9)
  return (%10)
