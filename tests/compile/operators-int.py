# run: compile
def f(x: int, y: int):
  return x + y, x - y, x * y, x / y, x // y, x % y, x ** y, x << y, x >> y, x & y, x | y, x ^ y, -x
# ---- expect
