# run: tree
def f(x):
  y = 1 +  # error: expected an expression but found the end of the line
  return y
