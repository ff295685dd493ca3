# run: compile
def f(x: int):
  with x: # error: With item expression must return an object
    pass
