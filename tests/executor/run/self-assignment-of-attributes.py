# run: run
class C:
  def __init__(self, w: Tensor):
    self.w = w
    self.n = 0
  def forward(self, x):
    self.n += 1
    self.w = self.w + x
    return self.w * self.n
def f(c: C, x):
  return c.forward(x) + c.forward(x)
# call: f(C(torch.ones(2)), torch.ones(2))
# ---- expect
f(C(torch.ones(2)), torch.ones(2)) -> tensor([8.0, 8.0])
  c becomes C(w=tensor([3.0, 3.0]), n=2)
