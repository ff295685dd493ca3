# run: run
# The quotient is not an int of 64 bits; the processor's division would end the process.
def f(a: int, b: int):
  return a // b, a % b
def g():
  smallest = -9223372036854775807 - 1
  return smallest // -1, smallest % -1
# call: f(-9223372036854775807 - 1, -1)
# call: f(-7, -1)
# call: g()
# ---- expect
f(-9223372036854775807 - 1, -1) -> (-9223372036854775808, 0)
f(-7, -1) -> (7, 0)
g() -> (-9223372036854775808, 0)
