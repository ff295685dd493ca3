# run: tree
x = f"a{}"  # error: braces hold no expression
