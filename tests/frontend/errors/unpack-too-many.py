# run: compile
def f(x: Tuple[int, int, int]):
  a, b = x # error: too many values to unpack: need 2 but found 3
