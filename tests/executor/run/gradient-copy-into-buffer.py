# run: run
def f(x):
  out = torch.zeros(2, 2)
  out[0] = x * 2
  out[1].copy_(x)
  return out * x
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([[4.7493, 0.1722], [2.3747, 0.086101]], requires_grad=True)
  gradient of x: tensor([11.301, -2.7387])
