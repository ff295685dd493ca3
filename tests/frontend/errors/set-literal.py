# run: compile
def f():
  return {1, 2} # error: Set aren't supported
