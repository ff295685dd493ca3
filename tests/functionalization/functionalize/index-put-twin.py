# run: compile, functionalize, tidy-functional
# Scripts call an overload that the dispatcher has not.
def f(x, i, v):
  y = x * 2
  y.index_put_([i], v)
  return y + 1
