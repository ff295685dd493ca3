# run: compile
def f(x: int):
  break # error: 'break' outside
