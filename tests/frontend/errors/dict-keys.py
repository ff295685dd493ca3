# run: compile
def f():
  return {"a": 1, 2: 3} # error: Dict keys must contain only a single type. Expected: str but found int instead
