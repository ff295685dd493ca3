# run: compile
def f(xs: List[int]):
  return [x * 2 for x in xs if x > 1]
# ---- expect
