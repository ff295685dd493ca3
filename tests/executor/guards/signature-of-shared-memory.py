# run: guards
def f(x, y, z):
  x.add_(1)
  return y * z
# let: a = torch.ones(4)
# call: f(a, a, torch.ones(4))
# call: f(a[:2], a[2:], torch.ones(2))
# call: f(torch.ones(2), torch.ones(2), torch.ones(2))
# call: f(torch.ones(4), a, a)
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  input y: Float(*), shares memory with x
  input z: Float(*)
  autograd's tape: aten::add_: it writes to a tensor
  autograd's tape: aten::mul: too few operators beside it, or its result is used in a way that only autograd's tape knows
plan: gradients on
  input x: Float(*)
  input y: Float(*)
  input z: Float(*)
  autograd's tape: aten::add_: it writes to a tensor
plan: gradients on
  input x: Float(*)
  input y: Float(*)
  input z: Float(*), shares memory with y
  autograd's tape: aten::add_: it writes to a tensor
