# run: run
# Where the list goes on, `x` is an int: the branch that leaves it as None has gone on to the next iteration.
def f(n: int) -> Tuple[Optional[int], int]:
  x: Optional[int] = None
  i = 0
  while x is None:
    if i < n:
      if i < n - 1:
        i += 1
        x = None
        continue
      x = 10
    else:
      x = 20
    x = x + i
  return x, i
# call: f(0)
# call: f(1)
# call: f(3)
# ---- expect
f(0) -> (20, 0)
f(1) -> (10, 0)
f(3) -> (12, 2)
