# run: tree
def f(a, b):
  # type: (int) -> int  # error: the type comment has 1 parameter types, but the function has 2 parameters
  pass
