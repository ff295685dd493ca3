# run: tree
x = 1abc  # error: invalid number
