# run: guards
# An integer that had two values may have any: a counter is not to make a plan for each number.
class M:
  def __init__(self, count: int, width: int):
    self.count = count
    self.width = width
def f(m: M, x):
  return x[:m.width] * m.count
# call: f(M(1, 2), torch.ones(4))
# call: f(M(2, 2), torch.ones(4))
# call: f(M(3, 2), torch.ones(4))
# call: f(M(4, 2), torch.ones(4))
# call: f(M(5, 2), torch.ones(4))
# call: f(M(1, 2), torch.ones(4))
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  attribute m.count: 1
  attribute m.width: 2
plan: gradients on
  input x: Float(*)
  attribute m.count: 2
  attribute m.width: 2
plan: gradients on
  input x: Float(*)
  attribute m.count: any value
  attribute m.width: 2
