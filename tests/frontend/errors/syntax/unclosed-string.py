# run: tree
def f(x):
  return "abc  # error: this string is not closed
