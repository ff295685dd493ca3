# run: guards
def f(x, b: Optional[Tensor], n: Optional[int]):
  if b is not None:
    x = x + b
  if n is not None:
    x = x * n
  return x
# call: f(torch.ones(2), None, None)
# call: f(torch.ones(2), torch.ones(2), 3)
# call: f(torch.ones(2), torch.ones(2), 4)
# ---- expect
# f
plan: gradients on
  input x.1: Float(*)
  input b.1: None
  input n.1: None
plan: gradients on
  input x.1: Float(*)
  input b.1: Float(*)
  input n.1: any value
