# run: run
def f(w, i):
  return torch.embedding(w, i) * 2, w[i], w.index_select(0, i), w.gather(0, i.unsqueeze(1))
# call: f(torch.randn(3, 2).requires_grad_(), torch.tensor([2, 0, 2]))
# ---- expect
f(torch.randn(3, 2).requires_grad_(), torch.tensor([2, 0, 2])) -> (tensor([[-2.169, -2.7972], [3.082, -0.58686], [-2.169, -2.7972]], requires_grad=True), tensor([[-1.0845, -1.3986], [1.541, -0.29343], [-1.0845, -1.3986]], requires_grad=True), tensor([[-1.0845, -1.3986], [1.541, -0.29343], [-1.0845, -1.3986]], requires_grad=True), tensor([[-1.0845], [1.541], [-1.0845]], requires_grad=True))
  gradient of w: tensor([[7.1, 6.4], [0.0, 0.0], [14.2, 12.8]])
