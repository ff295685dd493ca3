# run: compile
def f(x: int):
  a = "s"
  for i in range(x):
    if i > 3:
      continue
    a = 1 # error: Variable 'a' previously had type str
  return a
