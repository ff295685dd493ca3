# run: run
def f(l: List[int]):
  a, b = l
  return 3
# call: f([1, 2])
# call: f([1, 2, 3])
# ---- expect
f([1, 2]) -> 3
f([1, 2, 3]) raises RuntimeError: Expected 2 elements in a list but found 3
