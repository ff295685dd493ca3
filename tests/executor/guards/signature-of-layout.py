# run: guards
# Asked for by programs that look at it.
def f(x):
  if x.is_contiguous():
    return x.view(-1) * 2
  return x.contiguous().view(-1) * 3
# call: f(torch.ones(2, 3))
# call: f(torch.ones(2, 3).t())
# ---- expect
# f
plan: gradients on
  input x: Float(*, *), contiguous
plan: gradients on
  input x: Float(*, *), not contiguous
