# run: tree
def f(x):
  break  # error: 'break' outside of a loop
