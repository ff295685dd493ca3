# run: run --no-grad
def f(x):
  a = torch.is_grad_enabled()
  with torch.enable_grad():
    b = torch.is_grad_enabled()
  return a, b, (x * 2).requires_grad
# call: f(torch.ones(1).requires_grad_())
# ---- expect
f(torch.ones(1).requires_grad_()) -> (False, True, False)
