# run: compile
def f(x: Tuple[int, str], i: int):
  return x[i:] # error: tuple slice indices must be integer constants
