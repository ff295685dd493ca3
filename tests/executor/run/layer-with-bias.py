# run: run
# The example of docs/decisions/0008-gradients.md.
def f(x, w, b):
  h = x @ w
  h += b
  return torch.relu(h).sum()
# call: f(torch.ones(2, 3), torch.ones(3, 2).requires_grad_(), torch.ones(2).requires_grad_())
# ---- expect
f(torch.ones(2, 3), torch.ones(3, 2).requires_grad_(), torch.ones(2).requires_grad_()) -> tensor(16.0, requires_grad=True)
  gradient of w: tensor([[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]])
  gradient of b: tensor([2.0, 2.0])
