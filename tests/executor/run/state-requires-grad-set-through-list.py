# run: run
def f(x):
  l = [x]
  a = x.requires_grad
  l[0].requires_grad_(True)
  return a, x.requires_grad, (x * 2).requires_grad
# call: f(torch.ones(1))
# ---- expect
f(torch.ones(1)) -> (False, True, True)
  x becomes tensor([1.0], requires_grad=True)
