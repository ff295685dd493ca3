# run: compile
def f(x: int) -> int: # error: does not return along all paths
  if x > 1:
    return 1
