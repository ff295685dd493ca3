# run: run
def g(x, n: int):
  x.add_(n)
  return x * 2
def f(x):
  y = x * 1
  future = torch.jit.fork(g, y, 3)
  z = torch.jit.wait(future)
  return z + y
# call: f(torch.ones(2))
# call: f(torch.ones(2).requires_grad_())
# ---- expect
f(torch.ones(2)) -> tensor([12.0, 12.0])
f(torch.ones(2).requires_grad_()) -> tensor([12.0, 12.0], requires_grad=True)
  gradient of x: tensor([3.0, 6.0])
