# run: run
# A variable that an outer loop may leave unset is set where an inner one is.
def f(x: int):
  r = 0
  for a in (1, 2, 3):
    if a == x:
      continue
    b = a
    if a > 1:
      for c in (10, 20):
        b += c
        if b > x:
          break
    r += b
  return r
# call: f(0)
# call: f(1)
# call: f(2)
# call: f(30)
# ---- expect
f(0) -> 26
f(1) -> 25
f(2) -> 14
f(30) -> 66
