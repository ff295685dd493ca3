# run: guards
# The argument is no leaf: autograd's engine differentiates.
def f(x):
  y = (x * x).sum()
  g = torch.autograd.grad([y], [x])[0]
  assert g is not None
  return g
# let: w = torch.ones(2).requires_grad_()
# call: f(w)
# call: f(w * 2)
# ---- expect
# f
plan: gradients on
  input x: Float(*, requires_grad=1)
plan: gradients on
  input x: Float(*, requires_grad=1)
  compiled gradients: 3 nodes in 1 region
  note: gradients inside of the function run autograd's engine: a tensor that comes in has a hook or is computed from others, or one comes in twice
