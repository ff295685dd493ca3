# run: compile
def f(x: Optional[Tensor]):
  assert x is not None
  return x + 1
# ---- expect
