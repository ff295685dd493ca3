# run: tree
x = (y := 1)  # error: ':=' is not supported
