# run: tree
def f(a: int,  # type: int  # error: the parameter 'a' has a type already
      b):
  pass
