# run: run
def f(x, b: Optional[Tensor]):
  if b is not None:
    x = x + b
  return x, b is None
# call: f(torch.ones(2), None)
# call: f(torch.ones(2), torch.ones(2))
# ---- expect
f(torch.ones(2), None) -> (tensor([1.0, 1.0]), True)
  result[0] is x
f(torch.ones(2), torch.ones(2)) -> (tensor([2.0, 2.0]), False)
