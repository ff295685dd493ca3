# run: tree
def f(x):
  return """abc  # error: this triple-quoted string is not closed

