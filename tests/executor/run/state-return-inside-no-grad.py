# run: run
def g(x, n: int):
  with torch.no_grad():
    for i in range(n):
      if i == 2:
        return x * i
  return x * 10
def f(x, n: int):
  return g(x, n) * x
# call: f(torch.randn(2).requires_grad_(), 1)
# call: f(torch.randn(2).requires_grad_(), 5)
# ---- expect
f(torch.randn(2).requires_grad_(), 1) -> tensor([23.747, 0.86101], requires_grad=True)
  gradient of x: tensor([30.82, -11.737])
f(torch.randn(2).requires_grad_(), 5) -> tensor([4.7493, 0.1722], requires_grad=True)
  gradient of x: tensor([3.082, -1.1737])
