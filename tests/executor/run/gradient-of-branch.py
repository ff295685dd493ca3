# run: run
def f(x, c: bool):
  if c:
    y = x * x
  else:
    y = x.detach()
  return y * 2 + x
# call: f(torch.randn(2).requires_grad_(), True)
# call: f(torch.randn(2).requires_grad_(), False)
# ---- expect
f(torch.randn(2).requires_grad_(), True) -> tensor([6.2903, -0.12123], requires_grad=True)
  gradient of x: tensor([7.164, -0.34743])
f(torch.randn(2).requires_grad_(), False) -> tensor([4.623, -0.88029], requires_grad=True)
  gradient of x: tensor([1.0, 2.0])
