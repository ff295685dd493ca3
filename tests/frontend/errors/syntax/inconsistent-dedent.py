# run: tree
def f(x):
    if x:
        pass
      y = 1  # error: indentation matches no enclosing block
