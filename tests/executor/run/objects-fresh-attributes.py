# run: run
class C:
  def __init__(self, x: Tensor):
    self.x = x
    self.y = x
def f(x):
  c = C(x * 1)
  c.x.add_(1)
  c.y = c.x * 2
  c.x = c.y
  c.x.add_(1)
  return c.x, c.y, c.x is c.y
# call: f(torch.ones(2))
# ---- expect
f(torch.ones(2)) -> (tensor([5.0, 5.0]), tensor([5.0, 5.0]), True)
  result[1] is result[0]
