# run: tree
nonlocal x  # error: 'nonlocal' is not supported
