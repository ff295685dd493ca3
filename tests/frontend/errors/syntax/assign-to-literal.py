# run: tree
1 = x  # error: cannot assign to a literal
