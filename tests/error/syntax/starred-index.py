# run: tree
x[*y]  # error: starred indices are not supported
