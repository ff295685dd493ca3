# run: run
# As in torch.jit, `grad` has a type that is never None.
def f(x):
  y = x * 2
  return x.grad is None, y.requires_grad
# call: f(torch.ones(2).requires_grad_())
# call: f(torch.ones(2))
# ---- expect
f(torch.ones(2).requires_grad_()) -> (False, True)
f(torch.ones(2)) -> (False, False)
