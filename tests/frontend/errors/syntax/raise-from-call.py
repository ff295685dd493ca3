# run: tree
raise X from f()  # error: the cause of an exception must be a name or None
