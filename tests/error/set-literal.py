# run: compile
def f():
  return {1, 2} # error: sets are not supported
