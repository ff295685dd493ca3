# run: run
def f(w):
  y = w * 2
  w.add_(1)
  return y
# call: f(torch.ones(2).requires_grad_())
# call: f(torch.ones(2))
# ---- expect
f(torch.ones(2).requires_grad_()) raises RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
f(torch.ones(2)) -> tensor([2.0, 2.0])
  w becomes tensor([2.0, 2.0])
