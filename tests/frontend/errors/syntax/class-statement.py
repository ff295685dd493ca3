# run: tree
class A:
  if x:  # error: a class may hold attributes and methods only
    pass
