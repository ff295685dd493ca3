# run: run
def f(x, n: int):
  assert x.size(0) == n, "expected {}, got {}".format(n, x.size(0))
  return x[n - 1]
# call: f(torch.ones(2), 2)
# call: f(torch.ones(2), 3)
# ---- expect
f(torch.ones(2), 2) -> tensor(1.0)
  result shares memory with x, from element 1
f(torch.ones(2), 3) raises RuntimeError: AssertionError: expected 3, got 2
