# run: compile
def f(x: int):
  return x[0] # error: 'int' object is not subscriptable
