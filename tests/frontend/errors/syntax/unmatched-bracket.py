# run: tree
def f(x):
  return x)  # error: unmatched ')'
