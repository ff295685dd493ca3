# run: run
def g(x, n: int):
  x.add_(n)
  return x * 2
def h(x):
  return g(x, 1) + g(x, 2)
def f(x):
  return h(h(x))
# call: f(torch.zeros(2))
# ---- expect
f(torch.zeros(2)) -> tensor([40.0, 40.0])
  x becomes tensor([3.0, 3.0])
