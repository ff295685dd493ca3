# run: tree
yield x  # error: Yield aren't supported
