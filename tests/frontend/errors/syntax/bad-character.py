# run: tree
x = a ? b  # error: invalid character '?'
