# run: run
def f(x):
  return torch.nn.functional.pad(x, [1, 2], "constant", 0.5) * 2, torch.roll(x, 1, 0) * x
# call: f(torch.randn(2, 3).requires_grad_())
# ---- expect
f(torch.randn(2, 3).requires_grad_()) -> (tensor([[1.0, 3.082, -0.58686, -4.3576, 1.0, 1.0], [1.0, 1.1369, -2.169, -2.7972, 1.0, 1.0]], requires_grad=True), tensor([[0.87595, 0.31823, 3.0472], [0.87595, 0.31823, 3.0472]], requires_grad=True))
  gradient of x: tensor([[3.6597, -0.88993, -2.2098], [7.2793, 2.5743, -3.7715]])
