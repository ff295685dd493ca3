# run: tree
try:  # error: try blocks aren't supported
  pass
