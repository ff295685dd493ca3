# run: run
def f(x, h, n: int):
  for i in range(n):
    h = torch.tanh(h * x + i)
  return h
# call: f(torch.randn(2).requires_grad_(), torch.zeros(2), 4)
# call: f(torch.randn(2).requires_grad_(), torch.zeros(2), 0)
# call: f(torch.randn(2), torch.zeros(2).requires_grad_(), 20)
# ---- expect
f(torch.randn(2).requires_grad_(), torch.zeros(2), 4) -> tensor([0.99977, 0.99141], requires_grad=True)
  gradient of x: tensor([0.00046178, 0.031485])
f(torch.randn(2).requires_grad_(), torch.zeros(2), 0) -> tensor([0.0, 0.0])
  result is h
f(torch.randn(2), torch.zeros(2).requires_grad_(), 20) -> tensor([1.0, 1.0], requires_grad=True)
  gradient of h: tensor([0.0, 0.0])
