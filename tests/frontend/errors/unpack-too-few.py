# run: compile
def f(x: Tuple[int, int]):
  a, b, c = x # error: need 3 values to unpack but found only 2
