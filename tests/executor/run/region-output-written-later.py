# run: run
def f(x):
  y = x * x + 1
  z = y * 2 + x
  z.mul_(y)
  z[0] = 0.0
  return z, y
# call: f(torch.randn(2, 2).requires_grad_())
# ---- expect
f(torch.randn(2, 2).requires_grad_()) -> (tensor([[0.0, 0.0], [53.537, 4.2534]], requires_grad=True), tensor([[3.3747, 1.0861], [5.7471, 1.3231]], requires_grad=True))
  gradient of x: tensor([[3.082, -0.78248], [-148.82, 18.246]])
