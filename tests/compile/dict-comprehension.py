# run: compile
def f(xs: List[int]):
  return {x: x + 1 for x in xs}
# ---- expect
