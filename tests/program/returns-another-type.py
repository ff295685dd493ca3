# run: program
def f(n: int) -> str:
  return n
# ---- expect
Return value was annotated as having type str but is actually of type int
  File "returns-another-type.py", line 3
def f(n: int) -> str:
  return n
  ~~~~~~~~ <--- HERE
