# run: program
def f(n: int):
  return g(n)  # error: recursive

def g(n: int):
  return f(n - 1)
# ---- expect
