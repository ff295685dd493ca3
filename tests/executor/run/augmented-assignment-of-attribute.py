# run: run
class C:
  def __init__(self, w: Tensor, l: List[int]):
    self.w = w
    self.l = l
    self.n = 0
def f(c: C, x):
  before = c.w
  c.w += x
  c.l += [1]
  c.n += 2
  return before, before is c.w
# call: f(C(torch.ones(2), [0]), torch.ones(2))
# ---- expect
f(C(torch.ones(2), [0]), torch.ones(2)) -> (tensor([2.0, 2.0]), True)
  c becomes C(w=tensor([2.0, 2.0]), l=[0, 1], n=2)
  result[0] is c.w
