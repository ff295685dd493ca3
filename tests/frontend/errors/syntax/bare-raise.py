# run: tree
raise  # error: a 'raise' without an exception is not supported
