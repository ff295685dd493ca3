# run: compile
def f(x: int):
  return 1 if x > 1 else "a" # error: if-expression's true branch has type int but false branch has type str
