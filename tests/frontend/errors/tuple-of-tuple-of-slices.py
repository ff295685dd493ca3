# run: compile
def f(x):
  t = (slice(1), 2)
  u = (t, 1)  # error: a tuple that holds slices can't stand in a tuple
  return x[u]
