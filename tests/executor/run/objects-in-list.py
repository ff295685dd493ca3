# run: run
class C:
  def __init__(self, n: int):
    self.n = n
def f(n: int):
  a = C(n)
  l = [a, C(5), a]
  l[0].n += 1
  l[1].n += l[2].n
  return a.n, l[1].n, l[2].n, l[0] is l[2]
# call: f(1)
# ---- expect
f(1) -> (2, 7, 2, True)
