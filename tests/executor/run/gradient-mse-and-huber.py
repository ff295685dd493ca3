# run: run
def f(x, y):
  return torch.nn.functional.mse_loss(x, y) + torch.nn.functional.l1_loss(x, y) * torch.nn.functional.smooth_l1_loss(x, y)
# call: f(torch.randn(3).requires_grad_(), torch.randn(3).requires_grad_())
# call: f(torch.randn(3).requires_grad_(), torch.randn(3))
# ---- expect
f(torch.randn(3).requires_grad_(), torch.randn(3).requires_grad_()) -> tensor(1.035, requires_grad=True)
  gradient of x: tensor([1.0444, 0.87213, -0.86179])
  gradient of y: tensor([-1.0444, -0.87213, 0.86179])
f(torch.randn(3).requires_grad_(), torch.randn(3)) -> tensor(1.035, requires_grad=True)
  gradient of x: tensor([1.0444, 0.87213, -0.86179])
