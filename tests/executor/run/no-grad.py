# run: run --no-grad
def f(x):
  y = x * 2
  return y, y.requires_grad, x.requires_grad
# call: f(torch.ones(2).requires_grad_())
# ---- expect
f(torch.ones(2).requires_grad_()) -> (tensor([2.0, 2.0]), False, True)
