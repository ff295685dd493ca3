# run: run
def f(x, i, v):
  x.index_put_([i], v, accumulate=True)
  y = x.clone()
  y.scatter_add_(0, i, v)
  y.index_add_(0, i, v)
  return y
# call: f(torch.zeros(3), torch.tensor([0, 0, 2]), torch.tensor([1., 2., 3.]))
# ---- expect
f(torch.zeros(3), torch.tensor([0, 0, 2]), torch.tensor([1., 2., 3.])) -> tensor([9.0, 0.0, 9.0])
  x becomes tensor([3.0, 0.0, 3.0])
