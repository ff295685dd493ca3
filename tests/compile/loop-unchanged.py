# run: compile
# A variable that is assigned but does not change is not carried.
def f(x: int, n: int):
  y = 1
  for i in range(n):
    x = x
    y = y + x
  return y
# ---- expect
