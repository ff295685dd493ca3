# run: run
def f(x):
  y = x * 2
  y.mul_(3).add_(1)
  y.relu_()
  return y * x
# call: f(torch.randn(3).requires_grad_())
# ---- expect
f(torch.randn(3).requires_grad_()) -> tensor([15.789, -0.0, -0.0], requires_grad=True)
  gradient of x: tensor([19.492, 0.0, 0.0])
