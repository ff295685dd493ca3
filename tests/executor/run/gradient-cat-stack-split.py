# run: run
def f(x, y):
  z = torch.cat([x, y, x], 0) * torch.stack([x, y]).sum()
  a, b, c = torch.split(z, 2)
  p, q = torch.chunk(y, 2)
  return a * c, b + p, q
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# call: f(torch.randn(2).requires_grad_(), torch.randn(2))
# ---- expect
f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_()) -> (tensor([0.31255, 0.011332], requires_grad=True), tensor([-1.3883, -2.385], requires_grad=True), tensor([0.56843], requires_grad=True))
  result[2] shares memory with y, from element 1
  gradient of x: tensor([-2.4842, -3.0444])
  gradient of y: tensor([-0.25268, -2.6155])
f(torch.randn(2).requires_grad_(), torch.randn(2)) -> (tensor([0.31255, 0.011332], requires_grad=True), tensor([-1.3883, -2.385], requires_grad=True), tensor([0.56843]))
  result[2] shares memory with y, from element 1
  gradient of x: tensor([-2.4842, -3.0444])
