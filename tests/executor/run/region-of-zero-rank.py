# run: run
def f(x, y):
  return (x * y + x).exp() * y.sum()
# call: f(torch.tensor(0.5).requires_grad_(), torch.tensor(2.0).requires_grad_())
# call: f(torch.tensor(0.5).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
f(torch.tensor(0.5).requires_grad_(), torch.tensor(2.0).requires_grad_()) -> tensor(8.9634, requires_grad=True)
  gradient of x: tensor(26.89)
  gradient of y: tensor(8.9634)
f(torch.tensor(0.5).requires_grad_(), torch.randn(2).requires_grad_()) -> tensor([4.4446, 1.7762], requires_grad=True)
  gradient of x: tensor(13.804)
  gradient of y: tensor([8.6324, 8.1863])
