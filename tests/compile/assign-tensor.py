# run: compile
def f(x, m):
  x[0] = 3
  x[m] = x[0]
  x[1:2] *= 2
  x[m] += 1
  x += 1
  return x
# ---- expect
