# run: tree
nonlocal x  # error: nonlocal variables aren't supported
