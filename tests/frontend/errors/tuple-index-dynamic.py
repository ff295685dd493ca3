# run: compile
def f(x: Tuple[int, str], i: int):
  return x[i] # error: with a non-integer literal because we cannot resolve the output type
