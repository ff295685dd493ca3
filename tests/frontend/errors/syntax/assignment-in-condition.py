# run: tree
if x = 1:  # error: a comparison is written '=='
  pass
