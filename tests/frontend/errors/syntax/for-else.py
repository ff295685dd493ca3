# run: tree
for x in y:
  pass
else:  # error: else branches of for loops aren't supported
  pass
