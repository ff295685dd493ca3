# run: compile
def f(x: int):
  for i in x: # error: 'int' object is not iterable
    pass
