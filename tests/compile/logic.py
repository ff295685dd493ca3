# run: compile
def f(a: bool, b: int, c: str):
  return a and b, a or not c, not (a and b) or a
# ---- expect
