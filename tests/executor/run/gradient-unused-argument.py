# run: run
def f(x, y):
  z = y * 2
  return x * x + 1
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_()) -> tensor([3.3747, 1.0861], requires_grad=True)
  gradient of x: tensor([3.082, -1.1737])
  gradient of y: none
