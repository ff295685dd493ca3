# run: compile
def f(x, m):
  return x[0], x[1:2, None, ..., 0], x[:, m], x[[0, 1]], x[..., None], x[True]
# ---- expect
