# run: alias, inline
class Pair:
  def __init__(self, a: Tensor, b: Tensor):
    self.a = a
    self.b = b

def fresh_object(x: Tensor):
  a = x + 1
  b = x + 2
  p = Pair(a, b)
  p.a.add_(1)
  return p.b.sum()

def given_object(p: Pair, x: Tensor):
  y = x + 1
  p.a = y
  z = p.b
  z.mul_(2)
  return y.sum()
