# run: run
def f(x):
  y = x.view(1, 2)
  y.squeeze_(0)
  return y.dim(), x.dim(), y + x
# call: f(torch.arange(2.))
# ---- expect
f(torch.arange(2.)) -> (1, 1, tensor([0.0, 2.0]))
