# run: run
def f(n: int) -> int:
  if n > 0:
    raise ValueError("positive")
  else:
    raise IndexError("not positive")
# call: f(1)
# call: f(0)
# ---- expect
f(1) raises ValueError: positive
f(0) raises IndexError: not positive
