# run: run
def g(l: List[int], n: int):
  l.append(n)
  return len(l)
def f(n: int):
  l: List[int] = []
  m = [g(l, i) for i in [n, n + 1, n + 2]]
  return l, m
# call: f(3)
# ---- expect
f(3) -> ([3, 4, 5], [1, 2, 3])
