# run: run
def f(l: List[int], k: int):
  for i, x in enumerate(l):
    if x == k:
      return i
    if x < 0:
      break
  return -1
# call: f([3, 4, 5], 4)
# call: f([3, -1, 5], 5)
# call: f([], 5)
# ---- expect
f([3, 4, 5], 4) -> 1
f([3, -1, 5], 5) -> -1
f([], 5) -> -1
