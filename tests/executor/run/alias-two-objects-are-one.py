# run: run
class C:
  def __init__(self, n: int):
    self.n = n
def f(a: C, b: C):
  x = b.n
  a.n = 7
  return x, b.n, a is b
# let: c = C(1)
# call: f(c, c)
# call: f(c, C(2))
# ---- expect
f(c, c) -> (1, 7, True)
  a becomes C(n=7)
f(c, C(2)) -> (2, 2, False)
  a becomes C(n=7)
