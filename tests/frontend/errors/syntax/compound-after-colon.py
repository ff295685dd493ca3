# run: tree
if a: if b: c  # error: a compound statement must begin on a line of its own
