# run: tree
def f(a: int):
  # type: (int) -> int  # error: the parameter 'a' has a type already
  pass
