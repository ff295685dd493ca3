# run: plan
# The example of docs/decisions/0007-plans.md.
class Scale:
  def __init__(self, weight: Tensor, training: bool):
    self.weight = weight
    self.training = training
def f(m: Scale, parts: List[Tensor], i: int, x):
  y = x * m.weight
  if m.training:
    y = y / y.size(0)
  return y + parts[i]
# call: f(Scale(torch.ones(2), False), [torch.ones(2)], 0, torch.ones(2))
# ---- expect
# f(Scale(torch.ones(2), False), [torch.ones(2)], 0, torch.ones(2))
graph(%m : Scale,
      %parts : Tensor[],
      %i : int,
      %x : Float(*, requires_grad=0, device=cpu),
      %m.weight : Float(*, requires_grad=0, device=cpu),
      %m.training : bool):
  %12 : int = prim::Constant[value=1]()
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::mul(%x, %m.weight)
  %11 : Tensor = aten::__getitem__(%parts, %i)
  %16 : Float(*, requires_grad=0, device=cpu) = prim::BailOut[index=0](%11, %y.1)
  %13 : Float(*, requires_grad=0, device=cpu) = aten::add(%y.1, %16, %12)
  return (%13)
