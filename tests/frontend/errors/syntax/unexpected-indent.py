# run: tree
def f(x):
  y = 1
    z = 2  # error: unexpected indentation
