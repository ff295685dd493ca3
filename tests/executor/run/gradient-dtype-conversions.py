# run: run
def f(x):
  y = x.to(torch.float64) * 2
  z = x.half().float() + y
  return z, y.float() * x, x.int() + x
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> (tensor([4.623, -0.88031], dtype=float64, requires_grad=True), tensor([4.7493, 0.1722], requires_grad=True), tensor([2.541, -0.29343], requires_grad=True))
  gradient of x: tensor([10.164, 5.6526])
