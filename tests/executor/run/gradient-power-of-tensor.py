# run: run
def f(x, e):
  return x ** e * x
# call: f(torch.tensor([0., 2., 3.]).requires_grad_(), torch.tensor([0., 3., -1.]).requires_grad_())
# ---- expect
f(torch.tensor([0., 2., 3.]).requires_grad_(), torch.tensor([0., 3., -1.]).requires_grad_()) -> tensor([0.0, 16.0, 1.0], requires_grad=True)
  gradient of x: tensor([1.0, 48.0, 0.0])
  gradient of e: tensor([0.0, 16.636, 2.1972])
