# run: run
def f(x):
  y = (x * x * x).sum()
  g = torch.autograd.grad([y], [x], create_graph=True)[0]
  assert g is not None
  z = (g * g).sum()
  h = torch.autograd.grad([z], [x], create_graph=True)[0]
  assert h is not None
  return h
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([131.74, -0.90952], requires_grad=True)
  gradient of x: tensor([256.46, 18.598])
