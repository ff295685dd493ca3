# run: compile
def f(x: int):
  if x > 1:
    x: str = "a" # error: Attempting to declare and annotate the type of variable 'x'
