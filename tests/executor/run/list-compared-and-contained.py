# run: run
def f(l: List[int], n: int):
  a = n in l
  b = l == [1, 2]
  l[0] = n
  return a, b, l == [1, 2], n in l
# call: f([1, 2], 7)
# ---- expect
f([1, 2], 7) -> (False, True, False, True)
  l becomes [7, 2]
