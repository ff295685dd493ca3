# run: run
def f(a: int, b: int):
  return a ** b, a % b, a // b
# call: f(2, 3)
# call: f(-7, 2)
# call: f(7, -2)
# call: f(2, 0)
# ---- expect
f(2, 3) -> (8.0, 2, 0)
f(-7, 2) -> (49.0, 1, -4)
f(7, -2) -> (0.020408, -1, -4)
f(2, 0) raises RuntimeError: ZeroDivisionError: integer division or modulo by zero
