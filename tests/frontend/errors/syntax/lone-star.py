# run: tree
x = *y  # error: a starred expression must stand in a list, a tuple or a call
