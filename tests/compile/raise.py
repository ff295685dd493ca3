# run: compile
def f(x: int):
  if x == 1:
    raise ValueError
  if x == 2:
    raise RuntimeError("a", x)
  if x == 3:
    raise NotImplementedError(x)
# ---- expect
