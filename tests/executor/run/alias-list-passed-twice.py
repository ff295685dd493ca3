# run: run
def f(a: List[int], b: List[int]):
  n = len(b)
  a.append(4)
  return n, len(b), a == b
# let: l = [1, 2]
# call: f(l, l)
# call: f(l, [1, 2])
# ---- expect
f(l, l) -> (2, 3, True)
  a becomes [1, 2, 4]
f(l, [1, 2]) -> (2, 2, False)
  a becomes [1, 2, 4]
