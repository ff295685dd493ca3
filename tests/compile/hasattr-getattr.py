# run: compile
class P:
  def __init__(self, x: int):
    self.x = x
def f(p: P):
  if hasattr(p, "y"):
    return p.y
  return getattr(p, "x") + getattr(p, "y", 3)
# ---- expect
