# run: compile
def f(x: int):
  """Says nothing."""
  return x
# ---- expect
graph(%x : int):
  return (%x)
