# run: compile
def f(x: int):
  for a in (1, "2", 1.5):
    b = a
    if x == 3:
      break
  return b # error: 'b' may not be set after this loop
