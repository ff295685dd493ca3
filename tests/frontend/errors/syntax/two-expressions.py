# run: tree
x = a b  # error: expected the end of the statement but found 'b'
