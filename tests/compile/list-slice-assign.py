# run: compile
def f(x: List[int]):
  x[1:3] = [7]
  del x[:1]
  return x
# ---- expect
