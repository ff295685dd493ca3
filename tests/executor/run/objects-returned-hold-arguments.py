# run: run
class C:
  def __init__(self, x: Tensor, n: int):
    self.x = x
    self.n = n
def f(x, n: int):
  c = C(x, n)
  for i in range(n):
    c.n += i
  c.x.add_(1)
  return c, c.x
# call: f(torch.ones(2), 3)
# ---- expect
f(torch.ones(2), 3) -> (<C>, tensor([2.0, 2.0]))
  x becomes tensor([2.0, 2.0])
  result[0].x is x
  result[1] is x
