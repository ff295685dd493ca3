# run: tree
yield x  # error: 'yield' is not supported
