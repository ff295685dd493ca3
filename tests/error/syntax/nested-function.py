# run: tree
def f(x):
  def g(y):  # error: a function inside a function is not supported
    return y
  return g(x)
