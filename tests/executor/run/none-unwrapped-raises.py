# run: run
def f(x: Optional[Tensor]):
  assert x is not None, "x is missing"
  return x + 1
# call: f(torch.ones(1))
# call: f(None)
# ---- expect
f(torch.ones(1)) -> tensor([2.0])
f(None) raises RuntimeError: AssertionError: x is missing
