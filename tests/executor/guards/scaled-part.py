# run: guards
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
# call: f(Scale(torch.ones(2), False), [torch.ones(2)], 0, torch.ones(2))
# call: f(Scale(torch.ones(3), False), [torch.ones(3)], 0, torch.ones(3))
# call: f(Scale(torch.ones(2), True), [torch.ones(2)], 0, torch.ones(2))
# call: f(Scale(torch.ones(2), False), [torch.arange(2)], 0, torch.ones(2))
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  attribute m.weight: Float(*)
  attribute m.training: False
  guard 11: Float(*), failed 1 times
plan: gradients on
  input x: Float(*)
  attribute m.weight: Float(*)
  attribute m.training: True
  guard 11: watched
  autograd's tape: aten::add: a dtype or device is unknown, or complex
