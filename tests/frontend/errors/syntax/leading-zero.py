# run: tree
x = 012  # error: a decimal integer may not start with 0
