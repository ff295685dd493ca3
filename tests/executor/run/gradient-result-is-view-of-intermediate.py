# run: run
def f(x):
  y = x * 2 + 1
  return y, y[0], y.t()
# call: f(torch.randn(2, 2).requires_grad_())
# ---- expect
f(torch.randn(2, 2).requires_grad_()) -> (tensor([[4.082, 0.41314], [-3.3576, 2.1369]], requires_grad=True), tensor([4.082, 0.41314], requires_grad=True), tensor([[4.082, -3.3576], [0.41314, 2.1369]], requires_grad=True))
  result[1] shares memory with result[0]
  result[2], strides (1, 2)
  result[2] shares memory with result[0]
  gradient of x: tensor([[6.0, 10.0], [6.0, 8.0]])
