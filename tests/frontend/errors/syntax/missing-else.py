# run: tree
x = a if b  # error: 'else' of the conditional expression
