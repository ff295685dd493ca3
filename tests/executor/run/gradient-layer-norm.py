# run: run
def f(x, w, b):
  return torch.nn.functional.layer_norm(x, [3], w, b) * x
# call: f(torch.randn(2, 3).requires_grad_(), torch.ones(3).requires_grad_(), torch.zeros(3).requires_grad_())
# ---- expect
f(torch.randn(2, 3).requires_grad_(), torch.ones(3).requires_grad_(), torch.zeros(3).requires_grad_()) -> tensor([[1.8786, -0.0032805, 2.6806], [0.79495, 0.56097, 1.2325]], requires_grad=True)
  gradient of x: tensor([[1.1366, 0.17632, -1.8028], [2.2106, -0.76159, -1.9049]])
  gradient of w: tensor([3.1506, 1.0058, 6.2178])
  gradient of b: tensor([2.4505, -2.3043, -5.8475])
