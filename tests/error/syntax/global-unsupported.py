# run: tree
global x  # error: 'global' is not supported
