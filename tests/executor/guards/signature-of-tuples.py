# run: guards
def f(t: Tuple[Tensor, Tuple[bool, Optional[Tensor]]]):
  x, (c, y) = t
  if c and y is not None:
    x = x + y
  return x * 2
# call: f((torch.ones(2), (True, None)))
# call: f((torch.ones(2), (True, torch.ones(2, 2))))
# ---- expect
# f
plan: gradients on
  input t: Float(*)
  input t: True
  input t: None
plan: gradients on
  input t: Float(*)
  input t: True
  input t: Float(*, *)
