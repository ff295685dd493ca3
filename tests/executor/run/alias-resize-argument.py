# run: run
def f(x):
  d = x.dim()
  x.unsqueeze_(0)
  return d, x.dim(), x.size(0)
# call: f(torch.arange(3.))
# ---- expect
f(torch.arange(3.)) -> (1, 2, 1)
  x becomes tensor([[0.0, 1.0, 2.0]])
