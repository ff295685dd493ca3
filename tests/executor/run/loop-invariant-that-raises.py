# run: run
# A loop without iterations computes nothing.
def f(x, y, n: int):
  t = 0.0
  for i in range(n):
    t += float((x @ y).sum()) + 1 // (n - 1)
  return t
# call: f(torch.ones(2), torch.ones(3), 0)
# call: f(torch.ones(2), torch.ones(2), 1)
# call: f(torch.ones(2), torch.ones(2), 2)
# call: f(torch.ones(2), torch.ones(3), 2)
# ---- expect
f(torch.ones(2), torch.ones(3), 0) -> 0.0
f(torch.ones(2), torch.ones(2), 1) raises RuntimeError: division by 0
f(torch.ones(2), torch.ones(2), 2) -> 6.0
f(torch.ones(2), torch.ones(3), 2) raises RuntimeError: inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 and 3 elements respectively
