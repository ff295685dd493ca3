# run: compile
def f(x: str, n: int):
  return "{} is {}".format(x, n), "%s %d" % (x, n), x + "a", x[1:], x[0], "a" in x, f"{x}!"
# ---- expect
