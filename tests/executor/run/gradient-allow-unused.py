# run: run
def f(x, y):
  z = (x * 2).sum()
  g = torch.autograd.grad([z], [x, y], allow_unused=True)
  return g[0], g[1]
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_()) -> (tensor([2.0, 2.0]), None)
