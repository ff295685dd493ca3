# run: compile
def g(x, n: int):
  return x + n
def f(x):
  y = x * 2
  t = torch.jit.fork(g, y, n=3)
  return torch.jit.wait(t) + y
# ---- expect
