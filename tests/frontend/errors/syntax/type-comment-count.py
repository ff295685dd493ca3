# run: tree
def f(a, b):
  # type: (int) -> int  # error: Number of type annotations (1) did not match the number of function parameters (2)
  pass
