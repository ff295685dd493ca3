# run: compile
def f(x: int):
  for i in range(3):
    x = 1.5 # error: Variable 'x' previously had type int but is now being assigned to a value of type float
  return x
