# run: tree
x[]  # error: a subscript needs an index
