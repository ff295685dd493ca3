# run: run
def f(l: List[int]):
  total = 0
  for x in l:
    total += x
    if len(l) < 5:
      l.append(x + 1)
  return total, l
# call: f([1])
# call: f([1, 2, 3, 4, 5])
# ---- expect
f([1]) -> (1, [1, 2])
  l becomes [1, 2]
f([1, 2, 3, 4, 5]) -> (15, [1, 2, 3, 4, 5])
