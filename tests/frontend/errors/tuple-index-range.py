# run: compile
def f(x: Tuple[int, int]):
  return x[2] # error: Tuple index out of range. Tuple is length 2 and index is 2
