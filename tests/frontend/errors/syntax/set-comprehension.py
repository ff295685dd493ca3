# run: tree
{x for x in y}  # error: set comprehensions are not supported
