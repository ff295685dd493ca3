# run: run
def f(a: int, b: int):
  c = a // b
  return a
# call: f(1, 2)
# call: f(1, 0)
# ---- expect
f(1, 2) -> 1
f(1, 0) raises RuntimeError: division by 0
