# run: tree
class A(metaclass=B):  # error: keyword arguments of a class are not supported
  pass
