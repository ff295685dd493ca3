# run: compile
def f():
  a: List[Optional[int]] = [1, None]
  b: List[int] = []
  return a, b, [], [1, 2], [[1.0], [2.0]]
# ---- expect
