# run: tree
x = é  # error: invalid character 'é' (U+00E9); names and operators are written in ASCII
