# run: compile, functionalize, tidy-functional, reinplace
# The first iteration copies an argument; the others write to the copy.
def f(x, n: int):
  for i in range(n):
    x[i].add_(i)
  return x.sum()
