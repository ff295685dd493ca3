# run: gradient
def f(x):
  return x.exp()
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
no differentiable region
