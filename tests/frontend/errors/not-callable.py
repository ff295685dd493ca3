# run: compile
def f(x: int):
  return x(3) # error: cannot call a value of type 'int'
