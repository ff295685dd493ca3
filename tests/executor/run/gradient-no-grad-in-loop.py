# run: run
def f(x, n: int):
  y = x * 1
  for i in range(n):
    if i % 2 == 0:
      with torch.no_grad():
        s = y.sum()
    else:
      s = y.mean()
    y = y * x + s
  return y
# call: f(torch.randn(2).requires_grad_(), 3)
# call: f(torch.randn(2).requires_grad_(), 0)
# ---- expect
f(torch.randn(2).requires_grad_(), 3) -> tensor([22.567, 9.5341], requires_grad=True)
  gradient of x: tensor([22.431, 3.0095])
f(torch.randn(2).requires_grad_(), 0) -> tensor([1.541, -0.29343], requires_grad=True)
  gradient of x: tensor([1.0, 2.0])
