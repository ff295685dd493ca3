# run: compile
def f(x: int) -> int:
  return f(x) # error: called recursively
