# run: compile
def f(x: int):
  return f(x) # error: called recursively
