# run: tree
def f(x):
  if x:
  return x  # error: expected an indented block
