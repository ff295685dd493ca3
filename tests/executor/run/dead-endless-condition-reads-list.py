# run: run
def f(l: List[int]):
  n = 0
  while l[n] > 0:
    n += 1
  return 5
# call: f([2, 1, 0])
# call: f([2, 1])
# ---- expect
f([2, 1, 0]) -> 5
f([2, 1]) raises IndexError: list index out of range
