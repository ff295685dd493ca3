# run: run
# A result that is a view of the argument stays one, also behind compiled gradients.
def f(x, w):
  v = x.view(-1)
  y = (v * w).exp() * v
  return v, y
# call: f(torch.randn(2, 2).requires_grad_(), torch.randn(4))
# call: f(torch.randn(2, 2), torch.randn(4).requires_grad_())
# ---- expect
f(torch.randn(2, 2).requires_grad_(), torch.randn(4)) -> (tensor([1.541, -0.29343, -2.1788, 0.56843], requires_grad=True), tensor([0.28973, -0.44232, -0.9048, 0.91529], requires_grad=True))
  result[0] shares memory with x
  gradient of x: tensor([[0.8738, 4.168], [1.7505, 6.7545]])
f(torch.randn(2, 2), torch.randn(4).requires_grad_()) -> (tensor([1.541, -0.29343, -2.1788, 0.56843]), tensor([0.28973, -0.44232, -0.9048, 0.91529], requires_grad=True))
  result[0] shares memory with x
  gradient of w: tensor([0.44647, 0.17305, 3.2856, 1.0406])
