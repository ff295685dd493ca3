# run: tree
*a, *b = x  # error: Only one starred expression is allowed on the lhs
