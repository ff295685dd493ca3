# run: tree
def f(*args):  # error: '*' parameters are not supported
  pass
