# run: run
class C:
  def __init__(self, w: Tensor):
    self.w = w
def f(c: C, x):
  y = c.w * x
  c.w = y.detach()
  return y * c.w
# call: f(C(torch.randn(2).requires_grad_()), torch.randn(2).requires_grad_())
# ---- expect
f(C(torch.randn(2).requires_grad_()), torch.randn(2).requires_grad_()) -> tensor([11.273, 0.02782], requires_grad=True)
  c becomes C(w=tensor([-3.3575, -0.16679]))
  gradient of c.w: tensor([7.3153, -0.18962])
  gradient of x: tensor([-5.1739, 0.097884])
