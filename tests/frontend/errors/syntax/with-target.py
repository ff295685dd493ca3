# run: tree
with a as b.c:  # error: only a name may follow 'as'
  pass
