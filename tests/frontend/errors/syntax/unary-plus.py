# run: tree
x = +y  # error: unary '+' is supported before a number only
