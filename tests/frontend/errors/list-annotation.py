# run: compile
def f():
  x: List[int] = [1, "a"] # error: List type annotation `List[int]` did not match the types of the given list elements
