# run: tree
while x:
  pass
else:  # error: 'else' of a 'while' loop is not supported
  pass
