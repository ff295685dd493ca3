# run: run
# What was written before the exception stays written.
def f(x, y):
  x.add_(1)
  z = x @ y
  x.add_(1)
  return z
# call: f(torch.ones(2), torch.ones(2))
# call: f(torch.ones(2), torch.ones(3))
# ---- expect
f(torch.ones(2), torch.ones(2)) -> tensor(4.0)
  x becomes tensor([3.0, 3.0])
f(torch.ones(2), torch.ones(3)) raises RuntimeError: inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 and 3 elements respectively
  x becomes tensor([2.0, 2.0])
