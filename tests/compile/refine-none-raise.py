# run: compile
def f(x: Optional[int]) -> int:
  if x is None:
    raise ValueError("none")
  return x
# ---- expect
