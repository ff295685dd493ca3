# run: tree
def f(x):
  else:  # error: 'else' without an 'if' before it
    pass
