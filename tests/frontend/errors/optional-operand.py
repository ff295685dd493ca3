# run: compile
def f(x: Optional[Tensor]):
  return x + 1 # error: test it with `is not None` first
