# run: tree
def f(x):
  class C:  # error: a class inside a function is not supported
    pass
