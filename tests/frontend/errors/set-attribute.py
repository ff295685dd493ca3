# run: compile
def f(x: int):
  x.y = 3 # error: Tried to set an attribute: y on a non-class: int
