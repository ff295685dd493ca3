# run: tree
def f(x):
  def g(y):  # error: function definitions aren't supported inside a function
    return y
  return g(x)
