# run: plan --disable=all
def f(x, c: bool):
  if c:
    y = x + (1 + 2)
  else:
    y = x
  return y.dim()
# call: f(torch.ones(2), True)
# ---- expect
# f(torch.ones(2), True)
graph(%x : Float(*, requires_grad=0, device=cpu),
      %c : bool):
  %9 : bool = prim::Constant[value=1]()
  %y : Tensor = prim::If(%9)
    block0():
      %2 : int = prim::Constant[value=1]()
      %3 : int = prim::Constant[value=2]()
      %4 : int = aten::add(%2, %3)
      %5 : int = prim::Constant[value=1]()
      %y.1 : Tensor = aten::add(%x, %4, %5)
      -> (%y.1)
    block1():
      -> (%x)
  %8 : int = aten::dim(%y)
  return (%8)
