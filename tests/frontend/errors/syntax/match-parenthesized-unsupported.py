# run: tree
match (x):  # error: 'match' statements are not supported
  case 1:
    pass
