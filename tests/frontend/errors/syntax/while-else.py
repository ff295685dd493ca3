# run: tree
while x:
  pass
else:  # error: else branches of while loops aren't supported
  pass
