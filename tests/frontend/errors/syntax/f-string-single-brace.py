# run: tree
x = f"a}"  # error: a single '}' in an f-string
