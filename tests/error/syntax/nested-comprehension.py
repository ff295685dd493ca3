# run: tree
[x for y in z for x in y]  # error: a comprehension with several 'for'
