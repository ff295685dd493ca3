# run: compile, functionalize distinct
# One copy serves all iterations; after the branch, `y` may be the argument still.
def f(x, y, c: bool, n: int):
  for i in range(n):
    x.mul_(y)
  if c:
    y.add_(1)
  y.mul_(x)
  return x
# ---- expect
