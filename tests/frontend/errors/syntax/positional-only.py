# run: tree
def f(a, /, b):  # error: positional-only parameters are not supported
  pass
