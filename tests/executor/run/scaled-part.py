# run: run
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
# call: f(Scale(torch.ones(3), False), [torch.ones(3)], 0, torch.ones(3))
# call: f(Scale(torch.ones(2), True), [torch.ones(2)], 0, torch.ones(2))
# call: f(Scale(torch.ones(2), False), [torch.arange(2)], 0, torch.ones(2))
# ---- expect
f(Scale(torch.ones(2), False), [torch.ones(2)], 0, torch.ones(2)) -> tensor([2.0, 2.0])
f(Scale(torch.ones(3), False), [torch.ones(3)], 0, torch.ones(3)) -> tensor([2.0, 2.0, 2.0])
f(Scale(torch.ones(2), True), [torch.ones(2)], 0, torch.ones(2)) -> tensor([1.5, 1.5])
f(Scale(torch.ones(2), False), [torch.arange(2)], 0, torch.ones(2)) -> tensor([1.0, 2.0])
