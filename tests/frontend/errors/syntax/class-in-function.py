# run: tree
def f(x):
  class C:  # error: class definitions aren't supported inside a function
    pass
