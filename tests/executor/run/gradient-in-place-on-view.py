# run: run
def f(x):
  y = x * 1
  y[0].mul_(5)
  y[:, 1] = 0.0
  v = y.t()
  v.add_(x.t())
  return y
# call: f(torch.randn(2, 2).requires_grad_())
# ---- expect
f(torch.randn(2, 2).requires_grad_()) -> tensor([[9.246, -0.29343], [-4.3576, 0.56843]], requires_grad=True)
  gradient of x: tensor([[6.0, 1.3333], [3.3333, 2.0]]), strides (1, 2)
