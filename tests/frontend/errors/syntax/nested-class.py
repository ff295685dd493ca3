# run: tree
class A:
  class B:  # error: a class inside a class is not supported
    pass
