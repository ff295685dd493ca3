# run: run
# An in-place operator keeps the dtype of what it writes, where the other one would promote.
def f(x, y):
  x = x * 1
  x += y
  return x, x.dtype == torch.int64
# call: f(torch.arange(3), torch.arange(3))
# call: f(torch.arange(3.), torch.arange(3))
# call: f(torch.arange(3), torch.arange(3.))
# ---- expect
f(torch.arange(3), torch.arange(3)) -> (tensor([0, 2, 4], dtype=int64), True)
f(torch.arange(3.), torch.arange(3)) -> (tensor([0.0, 2.0, 4.0]), False)
f(torch.arange(3), torch.arange(3.)) raises RuntimeError: result type Float can't be cast to the desired output type Long
