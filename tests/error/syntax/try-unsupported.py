# run: tree
try:  # error: 'try' is not supported
  pass
