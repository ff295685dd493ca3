# run: tree
f(a=1, a=2)  # error: the keyword argument 'a' is given twice
