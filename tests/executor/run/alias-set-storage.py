# run: run
def f(x, y):
  x.set_(y)
  z = x + 1
  y.add_(1)
  return z, x * 1, x.dtype == y.dtype
# call: f(torch.zeros(2), torch.ones(2))
# ---- expect
f(torch.zeros(2), torch.ones(2)) -> (tensor([2.0, 2.0]), tensor([2.0, 2.0]), True)
  x becomes tensor([2.0, 2.0])
  y becomes tensor([2.0, 2.0])
