# run: compile
def f(x: Tuple[int, str], i: int):
  return x[i:] # error: the bounds of a slice of a tuple must be integer literals
