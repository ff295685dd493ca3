# run: run
def f(x):
  a = x.requires_grad
  x.requires_grad_(True)
  b = x.requires_grad
  y = (x * 2).requires_grad
  return a, b, y
# call: f(torch.ones(1))
# call: f(torch.ones(1).requires_grad_())
# ---- expect
f(torch.ones(1)) -> (False, True, True)
  x becomes tensor([1.0], requires_grad=True)
f(torch.ones(1).requires_grad_()) -> (True, True, True)
