# run: run
def f(x, t):
  p = torch.softmax(x, 1)
  l = torch.log_softmax(x, 1)
  return p * l, torch.nll_loss(l, t), torch.cross_entropy_loss(x * 2, t)
# call: f(torch.randn(2, 3).requires_grad_(), torch.tensor([2, 0]))
# ---- expect
f(torch.randn(2, 3).requires_grad_(), torch.tensor([2, 0])) -> (tensor([[-0.14262, -0.27023, -0.079613], [-0.21497, -0.2789, -0.23672]], requires_grad=True), tensor(2.0874, requires_grad=True), tensor(3.76, requires_grad=True))
  gradient of x: tensor([[1.7131, -0.13172, -1.5813], [0.41623, -0.18704, -0.22919]])
