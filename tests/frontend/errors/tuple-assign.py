# run: compile
def f(x: Tuple[int, int]):
  x[0] = 1 # error: Tuple[int, int] does not support subscripted assignment
