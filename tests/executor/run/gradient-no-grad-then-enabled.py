# run: run
def f(x):
  with torch.no_grad():
    a = x * 2
    with torch.enable_grad():
      b = x * 3 + a
    c = b * x
  return a, b, c + b
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> (tensor([3.082, -0.58686]), tensor([7.705, -1.4671], requires_grad=True), tensor([19.578, -1.0366], requires_grad=True))
  gradient of x: tensor([6.0, 12.0])
