# run: run
def f(l: List[int]):
  m = l[:]
  m.append(9)
  k = l[1:3]
  k[0] = 7
  l[0:2] = [5]
  return l, m, k, l[::2]
# call: f([1, 2, 3])
# call: f([1, 2])
# ---- expect
f([1, 2, 3]) -> ([5, 3], [1, 2, 3, 9], [7, 3], [5])
  l becomes [5, 3]
f([1, 2]) -> ([5], [1, 2, 9], [7], [5])
  l becomes [5]
