# run: tree
x = "\ud800"  # error: this escape names no character
