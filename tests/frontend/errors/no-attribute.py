# run: compile
def f(x: int):
  return x.foo # error: 'int' object has no attribute or method 'foo'
