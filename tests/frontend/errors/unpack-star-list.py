# run: compile
def f(x: List[int]):
  a, *b = x # error: cannot statically infer the expected size of a list in this context
