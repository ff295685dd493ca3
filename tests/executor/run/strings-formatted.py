# run: run
def f(n: int, v: float, s: str):
  return "{} {} {}".format(n, v, s), "%d %s" % (n, s), str(v), f"{n}-{s}"
# call: f(3, 0.5, "a")
# call: f(-1, 1e20, "")
# ---- expect
f(3, 0.5, "a") -> ('3 0.5 a', '3 a', '0.5', '3-a')
f(-1, 1e20, "") -> ('-1 1e+20 ', '-1 ', '1e+20', '-1-')
