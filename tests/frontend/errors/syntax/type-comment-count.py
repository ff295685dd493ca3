# run: tree
def f(a, b):  # error: Number of type annotations (1) did not match the number of function parameters (2)
  # type: (int) -> int
  pass
