# run: run
def f(x):
  with torch.no_grad():
    a = x * 2
    b = a + x
  return b * x, a.requires_grad, (x * b).requires_grad
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> (tensor([7.124, 0.2583], requires_grad=True), False, True)
  gradient of x: tensor([4.623, -1.7606])
