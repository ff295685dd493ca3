# run: tree
if y := x:  # error: ':=' is not supported
  pass
