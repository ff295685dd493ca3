# run: run
def f(x):
  a, b = x.chunk(2)
  b.add_(10)
  return torch.cat([a, b]), a
# call: f(torch.arange(4.))
# ---- expect
f(torch.arange(4.)) -> (tensor([0.0, 1.0, 12.0, 13.0]), tensor([0.0, 1.0]))
  x becomes tensor([0.0, 1.0, 12.0, 13.0])
  result[1] shares memory with x
