# run: run
def f(x, y):
  d = (x * y).detach()
  return d * x + y, d.requires_grad
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_()) -> (tensor([-7.3527, 0.61737], requires_grad=True), False)
  gradient of x: tensor([-3.3575, -0.33359])
  gradient of y: tensor([1.0, 2.0])
