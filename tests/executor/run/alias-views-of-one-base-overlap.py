# run: run
def f(x, y):
  before = x.sum()
  y.fill_(7.0)
  return before, x.sum(), x * 1
# let: base = torch.arange(6.)
# call: f(base[:4], base[2:])
# call: f(base[:3], base[3:])
# ---- expect
f(base[:4], base[2:]) -> (tensor(6.0), tensor(15.0), tensor([0.0, 1.0, 7.0, 7.0]))
  x becomes tensor([0.0, 1.0, 7.0, 7.0])
  y becomes tensor([7.0, 7.0, 7.0, 7.0])
  let base becomes tensor([0.0, 1.0, 7.0, 7.0, 7.0, 7.0])
f(base[:3], base[3:]) -> (tensor(3.0), tensor(3.0), tensor([0.0, 1.0, 2.0]))
  y becomes tensor([7.0, 7.0, 7.0])
  let base becomes tensor([0.0, 1.0, 2.0, 7.0, 7.0, 7.0])
