# run: compile
def f(n: int):
  s = 0
  for i in range(2, n, 3):
    s += i
  return s
# ---- expect
