# run: compile
def f(x):
  return x[..., ...] # error: An index can only have a single ellipsis
