# run: tree
f(a=1, a=2)  # error: Keyword argument a specified twice
