# run: compile
def f(x: int):
  return y # error: undefined value y
