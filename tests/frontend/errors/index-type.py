# run: compile
def f(x):
  return x["a"] # error: Unsupported operation: indexing tensor with unsupported index type 'str'
