# run: run
class C:
  def __init__(self, n: int):
    self.n = n
  def __add__(self, other: int) -> int:
    return self.n + other
  def __len__(self) -> int:
    self.n += 1
    return self.n
def f(c: C):
  a = len(c)
  b = len(c)
  return a, b, c + 10
# call: f(C(1))
# ---- expect
f(C(1)) -> (2, 3, 13)
  c becomes C(n=3)
