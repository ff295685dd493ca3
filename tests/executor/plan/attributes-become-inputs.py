# run: plan
class C:
  def __init__(self, w: Tensor, scale: float, bias: bool):
    self.w = w
    self.scale = scale
    self.bias = bias
def f(c: C, x):
  y = x * c.w * c.scale
  if c.bias:
    y = y + 1
  return y
# call: f(C(torch.ones(2), 2.0, True), torch.ones(2))
# call: f(C(torch.ones(2), 2.0, False), torch.ones(2))
# ---- expect
# f(C(torch.ones(2), 2.0, True), torch.ones(2))
graph(%c : C,
      %x : Float(*, requires_grad=0, device=cpu),
      %c.w : Float(*, requires_grad=0, device=cpu),
      %c.scale : float,
      %c.bias : bool):
  %7 : int = prim::Constant[value=1]()
  %3 : Float(*, requires_grad=0, device=cpu) = aten::mul(%x, %c.w)
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::mul(%3, %c.scale)
  %y.2 : Float(*, requires_grad=0, device=cpu) = aten::add(%y.1, %7, %7)
  return (%y.2)
# f(C(torch.ones(2), 2.0, False), torch.ones(2))
graph(%c : C,
      %x : Float(*, requires_grad=0, device=cpu),
      %c.w : Float(*, requires_grad=0, device=cpu),
      %c.scale : float,
      %c.bias : bool):
  %3 : Float(*, requires_grad=0, device=cpu) = aten::mul(%x, %c.w)
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::mul(%3, %c.scale)
  return (%y.1)
