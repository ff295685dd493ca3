# run: tree
if a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:
  pass
elif a:  # error: nested too deeply: at most 200 levels
  pass
