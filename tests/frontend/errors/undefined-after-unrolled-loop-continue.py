# run: compile
def f(x: int):
  for a in (1, 2, 3):
    if x == a:
      continue
    b = a
  return b # error: 'b' may not be set after this loop
