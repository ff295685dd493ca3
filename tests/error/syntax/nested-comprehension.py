# run: tree
[x for y in z for x in y]  # error: Only a single generator
