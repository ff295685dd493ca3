# run: compile
def f(x: int):
  del x
  return x # error: undefined value x
