# run: compile
def f(x: Union[int, str, None]):
  if isinstance(x, int):
    return x + 1
  elif isinstance(x, str):
    return len(x)
  return 0
# ---- expect
