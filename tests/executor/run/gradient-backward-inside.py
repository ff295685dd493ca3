# run: run
def f(x):
  y = (x.sin() * x).sum()
  y.backward()
  g = x.grad
  assert g is not None
  return g
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([1.0455, -0.57012])
