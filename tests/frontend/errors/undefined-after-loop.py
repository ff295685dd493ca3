# run: compile
def f(n: int):
  for i in range(n):
    y = 1
  return y # error: undefined value y
