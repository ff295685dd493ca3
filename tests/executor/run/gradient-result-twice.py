# run: run
def f(x):
  y = x * x + 1
  return y, y
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> (tensor([3.3747, 1.0861], requires_grad=True), tensor([3.3747, 1.0861], requires_grad=True))
  result[1] is result[0]
  gradient of x: tensor([6.164, -2.3474])
