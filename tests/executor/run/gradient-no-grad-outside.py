# run: run --no-grad
def f(x):
  y = x * 2 + 1
  with torch.enable_grad():
    z = x * y * x
  return y, z
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> (tensor([4.082, 0.41314]), tensor([9.6934, 0.035572], requires_grad=True))
  gradient of x: tensor([12.581, -0.48491])
