# run: run
def f(x, y, n: int):
  t = torch.zeros(2)
  for i in range(n):
    t = t + x * 2
    y.add_(1)
  return t
# let: a = torch.zeros(2)
# call: f(a, a, 3)
# call: f(a, a.clone(), 3)
# ---- expect
f(a, a, 3) -> tensor([6.0, 6.0])
  x becomes tensor([3.0, 3.0])
f(a, a.clone(), 3) -> tensor([0.0, 0.0])
  y becomes tensor([3.0, 3.0])
