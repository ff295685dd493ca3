# run: tree
def f(x):
  break  # error: SyntaxError: 'break' outside loop
