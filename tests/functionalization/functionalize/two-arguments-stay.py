# run: compile, functionalize
# `y` may be `x`, and is read after the write.
def f(x, y):
  x.add_(1)
  return x + y
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=1]()
  %4 : Tensor = aten::add_(%x, %2, %3)
  %5 : int = prim::Constant[value=1]()
  %6 : Tensor = aten::add(%x, %y, %5)
  return (%6)
