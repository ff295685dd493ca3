# run: run
def f(x):
  y = x.detach().clone()
  y.requires_grad_(True)
  z = y * x
  return z, y.requires_grad, z.requires_grad
# call: f(torch.randn(2).requires_grad_())
# call: f(torch.randn(2))
# ---- expect
f(torch.randn(2).requires_grad_()) -> (tensor([2.3747, 0.086101], requires_grad=True), True, True)
  gradient of x: tensor([1.541, -0.58686])
f(torch.randn(2)) -> (tensor([2.3747, 0.086101], requires_grad=True), True, True)
