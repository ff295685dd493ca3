# run: tree
def f(**kwargs):  # error: '**' parameters are not supported
  pass
