# run: compile
def f(x: int):
  a = 1.5
  for i in range(x):
    if i > 3:
      break
    a = [i] # error: Variable 'a' previously had type float but is now being assigned to a value of type List[int]
  return a
