# run: compile
def f(x: int) -> str:
  return x # error: Return value was annotated as having type str but is actually of type int
