# run: run
def f(a: int, b: int, s: int):
  l: List[int] = []
  for i in range(a, b, s):
    l.append(i)
  return l
# call: f(0, 7, 3)
# call: f(7, 0, -3)
# call: f(0, 7, -1)
# call: f(0, 7, 0)
# ---- expect
f(0, 7, 3) -> [0, 3, 6]
f(7, 0, -3) -> [7, 4, 1]
f(0, 7, -1) -> []
f(0, 7, 0) raises RuntimeError: range() arg 3 must not be zero
