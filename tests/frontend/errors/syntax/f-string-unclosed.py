# run: tree
x = f"{a"  # error: this f-string, or a field in it, is not closed
