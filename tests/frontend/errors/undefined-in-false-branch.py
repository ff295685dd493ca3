# run: compile
def f(x: int):
  if x > 1:
    y = 1
  return y # error: y is not defined in the false branch
