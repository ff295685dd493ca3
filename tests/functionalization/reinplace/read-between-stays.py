# run: compile, reinplace
# `x` is read while its new value is there, too.
def f(x):
  y = torch.add(x, 1)
  x.copy_(y)
  return y
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %1, %2)
  %4 : bool = prim::Constant[value=0]()
  %5 : Tensor = aten::copy_(%x, %y, %4)
  return (%y)
