# run: run
def f(x):
  y = (x * x).sum()
  y.backward(retain_graph=True)
  y.backward()
  g = x.grad
  assert g is not None
  return g
# call: f(torch.ones(2).requires_grad_())
# ---- expect
f(torch.ones(2).requires_grad_()) -> tensor([4.0, 4.0])
