# run: run
def f(n: int):
  k = 0
  for i in range(n):
    k = 10 // (2 - i)
  return n
# call: f(2)
# call: f(3)
# ---- expect
f(2) -> 2
f(3) raises RuntimeError: division by 0
