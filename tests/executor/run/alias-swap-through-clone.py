# run: run
def f(x, y):
  t = x.clone()
  x.copy_(y)
  y.copy_(t)
  return x - y
# let: a = torch.arange(3.)
# call: f(a, torch.ones(3))
# call: f(a, a)
# ---- expect
f(a, torch.ones(3)) -> tensor([1.0, 0.0, -1.0])
  x becomes tensor([1.0, 1.0, 1.0])
  y becomes tensor([0.0, 1.0, 2.0])
f(a, a) -> tensor([0.0, 0.0, 0.0])
