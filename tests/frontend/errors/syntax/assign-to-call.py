# run: tree
f(x) = y  # error: cannot assign to a function call
