# run: tree
def f(x):
  return (x

def g(x):  # error: expected ) but found 'def' here; the '(' of line 3 is not closed
  return x
