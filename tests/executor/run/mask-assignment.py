# run: run
def f(x, v):
  x[x > 1] = 0.0
  x[x == 0] = v
  x[1:][x[1:] < 1] -= 1
  return x.sum()
# call: f(torch.arange(4.), torch.tensor(7.0))
# call: f(torch.arange(4.), torch.tensor([7.0, 8.0]))
# ---- expect
f(torch.arange(4.), torch.tensor(7.0)) -> tensor(22.0)
  x becomes tensor([7.0, 1.0, 7.0, 7.0])
f(torch.arange(4.), torch.tensor([7.0, 8.0])) raises RuntimeError: shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [3]
  x becomes tensor([0.0, 1.0, 0.0, 0.0])
