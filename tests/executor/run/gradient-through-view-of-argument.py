# run: run
def f(x):
  return x.t().reshape(-1).view(3, 2).transpose(0, 1) * x
# call: f(torch.randn(2, 3).requires_grad_())
# ---- expect
f(torch.randn(2, 3).requires_grad_()) -> tensor([[2.3747, 0.086101, 4.7471], [0.32311, 1.1762, 1.9561]], requires_grad=True)
  result, strides (1, 2)
  gradient of x: tensor([[3.082, -0.70423, -6.1006], [1.819, -3.9043, -5.5944]])
