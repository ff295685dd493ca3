# run: run
def f(x, y):
  torch.add(x, y, out=x)
  return x + y
# let: a = torch.ones(2)
# call: f(a, torch.ones(2))
# call: f(a, a)
# ---- expect
f(a, torch.ones(2)) -> tensor([3.0, 3.0])
  x becomes tensor([2.0, 2.0])
f(a, a) -> tensor([4.0, 4.0])
  x becomes tensor([2.0, 2.0])
