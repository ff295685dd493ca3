# run: guards
# A device is a constant of the plan: what is made there has it.
class M:
  def __init__(self, where: Device):
    self.where = where
def f(m: M, x, to: Device):
  return x.to(m.where) + torch.ones(2, device=to)
# call: f(M(torch.device("cpu")), torch.ones(2), torch.device("cpu"))
# call: f(M(torch.device("cpu")), torch.ones(2), torch.device("cpu", 0))
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  input to: cpu
  attribute m.where: cpu
plan: gradients on
  input x: Float(*)
  input to: cpu:0
  attribute m.where: cpu
