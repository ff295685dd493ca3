# run: tree
x = f"{a +}"  # error: expected an expression but found the end of the text
