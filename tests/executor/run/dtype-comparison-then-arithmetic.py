# run: run
def f(x, y):
  m = x > y
  return m + m, m * 2, m & (x == y), ~m, x * m
# call: f(torch.arange(3), torch.ones(3))
# ---- expect
f(torch.arange(3), torch.ones(3)) -> (tensor([False, False, True], dtype=bool), tensor([0, 0, 2], dtype=int64), tensor([False, False, False], dtype=bool), tensor([True, True, False], dtype=bool), tensor([0, 0, 2], dtype=int64))
