# run: tree
x = "\N{DASH}"  # error: \N{…} escapes are not supported
