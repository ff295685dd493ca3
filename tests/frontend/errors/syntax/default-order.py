# run: tree
def f(a=1, b):  # error: a parameter without a default follows one with a default
  pass
