# run: compile
def f(x: int):
  print("x", x)
# ---- expect
