# run: tree
f(x for x in y)  # error: generator expressions are not supported
