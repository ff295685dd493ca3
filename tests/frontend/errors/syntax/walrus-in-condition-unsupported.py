# run: tree
if y := x:  # error: NamedExpr aren't supported
  pass
