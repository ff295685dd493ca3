# run: guards
# What is in a list of integers is known to plans; a list that had two contents may have any.
class M:
  def __init__(self, dims: List[int], widths: List[int]):
    self.dims = dims
    self.widths = widths
def f(m: M, x):
  l: List[Tensor] = []
  for i in range(len(m.dims)):
    l.append(x.narrow(0, m.dims[i], m.widths[i]) * 2)
  return torch.cat(l)
# call: f(M([0, 2], [1, 2]), torch.ones(4))
# call: f(M([1], [1, 2]), torch.ones(4))
# call: f(M([], [1, 2]), torch.ones(4))
# call: f(M([2, 1, 0], [1, 2, 3]), torch.ones(4))
# call: f(M([0, 2], [1, 2]), torch.ones(4))
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  attribute m.dims: [0, 2]
  attribute m.widths: [1, 2]
plan: gradients on
  input x: Float(*)
  attribute m.dims: [1]
  attribute m.widths: [1, 2]
plan: gradients on
  input x: Float(*)
  attribute m.dims: any value
  attribute m.widths: [1, 2]
plan: gradients on
  input x: Float(*)
  attribute m.dims: any value
  attribute m.widths: [1, 2, 3]
