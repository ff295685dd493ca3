# run: run
def f(x, n: int):
  i = 0
  while i < n:
    x = x * 0.5 + 1
    if i == n - 2:
      x = x.double()
    i += 1
  return x
# call: f(torch.zeros(2), 5000)
# ---- expect
f(torch.zeros(2), 5000) -> tensor([2.0, 2.0], dtype=float64)
