# run: compile
class P:
  def __init__(self, x: int):
    self.x = x
  def __add__(self, other: int) -> int:
    return self.x + other
  def __getitem__(self, i: int) -> int:
    return self.x + i
  def __len__(self) -> int:
    return self.x
def f(n: int):
  p = P(n)
  p.x += 1
  return p + 1, p[2], len(p), p.x
# ---- expect
