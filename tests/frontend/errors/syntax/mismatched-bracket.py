# run: tree
def f(x):
  return (x]  # error: ']' does not match the opening '('
