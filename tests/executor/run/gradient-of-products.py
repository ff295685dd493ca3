# run: run
def f(x, y):
  return (x * y).sin() * x + y.exp()
# call: f(torch.randn(3).requires_grad_(), torch.randn(3).requires_grad_())
# call: f(torch.randn(3).requires_grad_(), torch.randn(3))
# call: f(torch.randn(3), torch.randn(3).requires_grad_())
# ---- expect
f(torch.randn(3).requires_grad_(), torch.randn(3).requires_grad_()) -> tensor([2.9492, 0.24625, 0.041685], requires_grad=True)
  gradient of x: tensor([1.329, 0.92271, -5.879])
  gradient of y: tensor([3.2859, 0.62976, -8.9581])
f(torch.randn(3).requires_grad_(), torch.randn(3)) -> tensor([2.9492, 0.24625, 0.041685], requires_grad=True)
  gradient of x: tensor([1.329, 0.92271, -5.879])
f(torch.randn(3), torch.randn(3).requires_grad_()) -> tensor([2.9492, 0.24625, 0.041685], requires_grad=True)
  gradient of y: tensor([3.2859, 0.62976, -8.9581])
