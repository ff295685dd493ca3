# run: compile
def f(x, y):
  return x + y, x - 2, 3 * x, x / y, x @ y, x ** 2, ~x, -x, x == y, x < 1
# ---- expect
