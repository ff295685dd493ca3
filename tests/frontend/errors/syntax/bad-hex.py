# run: tree
x = 0xg  # error: invalid hexadecimal number
