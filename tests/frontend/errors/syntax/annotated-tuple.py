# run: tree
a, b: int = c  # error: only a single target can have a type
