# run: tree
def f(a, a):  # error: the parameter 'a' is declared twice
  pass
