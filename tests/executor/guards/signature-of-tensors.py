# run: guards
def f(x, y):
  return x * 2 + y * x
# call: f(torch.ones(2), torch.ones(2))
# call: f(torch.ones(5), torch.ones(5))
# call: f(torch.ones(2, 2), torch.ones(2))
# call: f(torch.ones(2).requires_grad_(), torch.ones(2))
# call: f(torch.arange(2), torch.ones(2, dtype=torch.float64))
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  input y: Float(*)
plan: gradients on
  input x: Float(*, *)
  input y: Float(*)
plan: gradients on
  input x: Float(*, requires_grad=1)
  input y: Float(*)
  compiled gradients: 5 nodes in 1 region
plan: gradients on
  input x: Long(*)
  input y: Double(*)
