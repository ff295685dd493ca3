# run: run
def f(x):
  y = (x * x * x).sum()
  g = torch.autograd.grad([y], [x], create_graph=True)[0]
  assert g is not None
  return g * x + y
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([14.612, 3.5583], requires_grad=True)
  gradient of x: tensor([42.744, 2.3247])
