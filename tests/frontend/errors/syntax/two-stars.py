# run: tree
*a, *b = x  # error: only one target of an assignment may be starred
