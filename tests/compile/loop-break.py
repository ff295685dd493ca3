# run: compile
def f(x: int):
  while True:
    x += 1
    if x > 3:
      break
    x += 2
  return x
# ---- expect
