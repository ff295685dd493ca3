# run: tree
def f(x):
  return (x  # error: '(' was never closed
