# run: compile
def f():
  x: Dict[int, str] = dict([("a", 1)]) # error: Dict type annotation `Dict[int, str]` did not match the type of an actual key type `str`
  return x
