# run: run
def f(x):
  e = x.expand(3, 2)
  x.add_(1)
  return e, e.sum()
# call: f(torch.arange(2.))
# ---- expect
f(torch.arange(2.)) -> (tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]), tensor(9.0))
  x becomes tensor([1.0, 2.0])
  result[0], strides (0, 1)
  result[0] shares memory with x
