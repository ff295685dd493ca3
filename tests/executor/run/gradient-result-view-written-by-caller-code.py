# run: run
def g(x):
  y = x * 2 + 1
  return y, y.view(-1)
def f(x):
  y, v = g(x)
  v.mul_(3)
  return y * x
# call: f(torch.randn(2, 2).requires_grad_())
# ---- expect
f(torch.randn(2, 2).requires_grad_()) -> tensor([[18.871, -0.36368], [21.946, 3.644]], requires_grad=True)
  gradient of x: tensor([[21.492, -0.69486], [-38.576, 19.642]])
