# run: guards
# The example of docs/decisions/0008-gradients.md.
def f(x, w, b):
  h = x @ w
  h += b
  return torch.relu(h).sum()
# call: f(torch.ones(2, 3), torch.ones(3, 2).requires_grad_(), torch.ones(2).requires_grad_())
# ---- expect
# f
plan: gradients on
  input x: Float(*, *)
  input w: Float(*, *, requires_grad=1)
  input b: Float(*, requires_grad=1)
  compiled gradients: 6 nodes in 1 region
