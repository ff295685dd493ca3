# run: tree
x = lambda y: y  # error: Lambda aren't supported
