# run: run
class C:
  def __init__(self, x: Tensor):
    self.x = x
def f(c: C, x):
  y = c.x * 2
  x.add_(1)
  return y, c.x * 2
# let: a = torch.zeros(2)
# call: f(C(a), a)
# call: f(C(a.clone()), a)
# ---- expect
f(C(a), a) -> (tensor([0.0, 0.0]), tensor([2.0, 2.0]))
  c becomes C(x=tensor([1.0, 1.0]))
  x becomes tensor([1.0, 1.0])
f(C(a.clone()), a) -> (tensor([0.0, 0.0]), tensor([0.0, 0.0]))
  x becomes tensor([1.0, 1.0])
