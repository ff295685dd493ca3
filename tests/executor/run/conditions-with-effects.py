# run: run
def g(l: List[int], c: bool):
  l.append(1 if c else 0)
  return c
def f(a: bool, b: bool):
  l: List[int] = []
  x = g(l, a) and g(l, b)
  y = g(l, a) or g(l, b)
  z = 1 if g(l, not a) else 2
  return x, y, z, l
# call: f(True, False)
# call: f(False, True)
# ---- expect
f(True, False) -> (False, True, 2, [1, 0, 1, 0])
f(False, True) -> (False, True, 1, [0, 0, 1, 1])
