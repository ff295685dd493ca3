# run: run
def f(x):
  n = 0
  while (x > 1).any():
    x = x / 2
    n += 1
  return x, n
# call: f(torch.tensor([5., 9.]))
# call: f(torch.zeros(2))
# ---- expect
f(torch.tensor([5., 9.])) -> (tensor([0.3125, 0.5625]), 4)
f(torch.zeros(2)) -> (tensor([0.0, 0.0]), 0)
  result[0] is x
