# run: compile
def f(x: int):
  if x > 1:
    z = 1
  else:
    y = 1
  return y # error: y is not defined in the true branch
