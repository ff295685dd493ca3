# run: tree
x = (y := 1)  # error: NamedExpr aren't supported
