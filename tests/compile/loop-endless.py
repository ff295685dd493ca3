# run: compile
# The loop never falls through, so that its result is the function's.
def f(x: int) -> int:
  while True:
    if x > 3:
      return x
    x += 1
# ---- expect
