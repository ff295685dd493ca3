# run: compile
def f(x: int):
  if x > 1:
    y = 1
  else:
    y = "a"
  return y # error: Type mismatch: y is set to type int in the true branch and type str in the false branch
