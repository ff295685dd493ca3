# run: compile
def f(x: int):
  y = 1
  if x > 1:
    y = "a" # error: Variable 'y' previously had type int but is now being assigned to a value of type str
  return y
