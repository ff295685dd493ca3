# run: run
def f(l: List[int], i: int):
  l.append(1)
  n = l[i]
  l.append(2)
  return n
# call: f([5], 0)
# call: f([5], 9)
# ---- expect
f([5], 0) -> 5
  l becomes [5, 1, 2]
f([5], 9) raises IndexError: list index out of range
  l becomes [5, 1]
