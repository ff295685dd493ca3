# run: run
def f(l: List[int], d: int):
  return len(l) > 0 and l[0] > 1, d == 0 or 10 // d > 2
# call: f([], 0)
# call: f([2], 3)
# ---- expect
f([], 0) -> (False, True)
f([2], 3) -> (True, True)
