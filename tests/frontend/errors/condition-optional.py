# run: compile
def f(x: Optional[int]):
  if x: # error: Could not cast value of type Optional[int] to bool
    return 1
