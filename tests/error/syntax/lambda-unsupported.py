# run: tree
x = lambda y: y  # error: 'lambda' is not supported
