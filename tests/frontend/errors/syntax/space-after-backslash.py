# run: tree
x = 1 + \ y  # error: unexpected character after a line continuation
  2
