# run: run
def f(x: Optional[int], n: int):
  y: Optional[int] = x
  for i in range(n):
    if y is None:
      y = i + 10
    else:
      y = None
  return y
# call: f(None, 1)
# call: f(None, 2)
# call: f(3, 0)
# call: f(3, 2)
# ---- expect
f(None, 1) -> 10
f(None, 2) -> None
f(3, 0) -> 3
f(3, 2) -> 11
