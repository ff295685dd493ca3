# run: run
# The write through the detached tensor shows; no gradient flows through it.
def f(x):
  y = x * 2
  d = y.detach()
  d.add_(1)
  return y + x
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([5.623, 0.11971], requires_grad=True)
  gradient of x: tensor([3.0, 6.0])
