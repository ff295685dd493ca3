# run: tree
def f(a, *,):  # error: a named parameter must follow '*'
  pass
