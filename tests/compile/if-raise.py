# run: compile
# The branch that raises has no say in the type of y, and the rest is not nested.
def f(x: int):
  if x > 1:
    y = 1
  else:
    raise ValueError("x is {}".format(x))
  return y + 1
# ---- expect
