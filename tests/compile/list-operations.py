# run: compile
def f(x: List[int]):
  x[0] = 3
  x[1] += 4
  del x[1]
  x += [2]
  return x[1:3], x[::2], x[-1], 3 in x, len(x)
# ---- expect
