# run: compile
def f(xs: List[int]):
  s = 0
  for x in xs:
    if x == 2:
      continue
    s += x
  return s
# ---- expect
