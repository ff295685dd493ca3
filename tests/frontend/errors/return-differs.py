# run: compile
def f(x: int):
  if x > 1:
    return 1
  return "a" # error: Previous return statement returned a value of type int but this return statement returns a value of type str
