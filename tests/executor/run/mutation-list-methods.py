# run: run
def f(l: List[int]):
  a = l.pop()
  l.insert(0, a)
  l.extend([1, a])
  l.reverse()
  del l[0]
  l[0] = 9
  l.remove(9)
  return a, len(l), l[-1], l
# call: f([3, 4])
# call: f([3])
# ---- expect
f([3, 4]) -> (4, 2, 4, [3, 4])
f([3]) -> (3, 1, 3, [3])
