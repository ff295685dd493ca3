# run: compile
# The inner return leaves the rest of both ifs.
def f(x: int, y: int):
  if x > 1:
    if y > 1:
      return 1
    x = x + y
  return x
# ---- expect
