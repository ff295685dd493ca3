# run: tree
f(a=1, b)  # error: a positional argument may not follow a keyword argument
