# run: tree
x = "\xg0"  # error: \x must be followed by 2 hexadecimal digits
