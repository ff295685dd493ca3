# run: run
def f(l: List[List[int]]):
  a = l[0]
  a.append(1)
  l.append(a)
  l[-1].append(2)
  return len(l[0]), l
# call: f([[0], [5]])
# ---- expect
f([[0], [5]]) -> (3, [[0, 1, 2], [5], [0, 1, 2]])
  l becomes [[0, 1, 2], [5], [0, 1, 2]]
