# run: tree
x = a <> b  # error: write '!='
