# run: guards --no-grad
def f(x):
  return x * 2 + x
# call: f(torch.ones(2).requires_grad_())
# ---- expect
# f
plan: gradients off
  input x: Float(*, requires_grad=1)
