# run: run
def f(x, n: int):
  y = x
  for i in range(n):
    if i == 1:
      y = y.double()
    y = y + x
  return y
# call: f(torch.ones(1), 1)
# call: f(torch.ones(1), 3)
# ---- expect
f(torch.ones(1), 1) -> tensor([2.0])
f(torch.ones(1), 3) -> tensor([4.0], dtype=float64)
