# run: run
def f(x, on: bool):
  before = torch.is_grad_enabled()
  torch.set_grad_enabled(on)
  y = x * 2 * x
  torch.set_grad_enabled(before)
  return y, y.requires_grad
# call: f(torch.randn(2).requires_grad_(), True)
# call: f(torch.randn(2).requires_grad_(), False)
# ---- expect
f(torch.randn(2).requires_grad_(), True) -> (tensor([4.7493, 0.1722], requires_grad=True), True)
  gradient of x: tensor([6.164, -2.3474])
f(torch.randn(2).requires_grad_(), False) -> (tensor([4.7493, 0.1722]), False)
