# run: tree
for x in y:
  pass
else:  # error: 'else' of a 'for' loop is not supported
  pass
