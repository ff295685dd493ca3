# run: run
def f(x):
  (x * x).sum().backward()
  (x * 3).sum().backward()
  g = x.grad
  assert g is not None
  return g
# call: f(torch.ones(2).requires_grad_())
# ---- expect
f(torch.ones(2).requires_grad_()) -> tensor([5.0, 5.0])
