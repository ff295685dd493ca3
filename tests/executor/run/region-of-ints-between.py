# run: run
def f(x, i):
  y = x * 2
  n = y.size(0)
  k = i.sum().item()
  z = y * n + float(k)
  return z.relu() * x
# call: f(torch.randn(2).requires_grad_(), torch.tensor([1, 2]))
# ---- expect
f(torch.randn(2).requires_grad_(), torch.tensor([1, 2])) -> tensor([14.122, -0.53588], requires_grad=True)
  gradient of x: tensor([15.328, 1.3051])
