# run: run
def f(x):
  a = x * 2
  x.add_(1)
  b = x * 2
  return a + b, a, b
# call: f(torch.ones(2))
# ---- expect
f(torch.ones(2)) -> (tensor([6.0, 6.0]), tensor([2.0, 2.0]), tensor([4.0, 4.0]))
  x becomes tensor([2.0, 2.0])
