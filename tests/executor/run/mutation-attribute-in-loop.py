# run: run
class C:
  def __init__(self):
    self.n = 0
    self.log: List[int] = []
  def step(self, k: int):
    self.n += k
    self.log.append(self.n)
    return self.n
def f(c: C, k: int):
  t = 0
  for i in range(k):
    t += c.step(i) * c.n
  return t, c.n
# call: f(C(), 3)
# call: f(C(), 0)
# ---- expect
f(C(), 3) -> (10, 3)
  c becomes C(n=3, log=[0, 1, 3])
f(C(), 0) -> (0, 0)
