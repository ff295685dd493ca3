# run: compile
def f(x: Optional[int]):
  return x + 1 # error: Arguments for call are not valid
