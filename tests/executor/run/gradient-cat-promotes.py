# run: run
def f(x, y):
  return torch.cat([x, y]) * 2
# call: f(torch.randn(2).requires_grad_(), torch.arange(2))
# call: f(torch.randn(2).requires_grad_(), torch.randn(2, dtype=torch.float64).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_(), torch.arange(2)) -> tensor([3.082, -0.58686, 0.0, 2.0], requires_grad=True)
  gradient of x: tensor([2.0, 2.6667])
f(torch.randn(2).requires_grad_(), torch.randn(2, dtype=torch.float64).requires_grad_()) -> tensor([3.082, -0.58686, -4.3576, 1.1369], dtype=float64, requires_grad=True)
  gradient of x: tensor([2.0, 2.6667])
  gradient of y: tensor([3.3333, 4.0], dtype=float64)
