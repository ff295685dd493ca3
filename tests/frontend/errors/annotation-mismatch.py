# run: compile
def f(x: int):
  y: str = x # error: Variable 'y' is annotated with type str but is being assigned to a value of type int
