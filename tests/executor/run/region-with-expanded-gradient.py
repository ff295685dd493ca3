# run: run
# The gradient that comes in is expanded, the one of a sum of a sum.
def f(x):
  y = x * x + x
  return y.sum(0).sum() + y.mean()
# call: f(torch.randn(2, 3).requires_grad_())
# ---- expect
f(torch.randn(2, 3).requires_grad_()) -> tensor(9.1202, requires_grad=True)
  gradient of x: tensor([[4.7623, 0.482, -3.9172], [2.493, -1.3639, -2.0967]])
