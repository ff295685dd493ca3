# run: run
def f(l: List[float], x):
  m = sorted(l)
  l.sort(reverse=True)
  return m, l, l.index(2.0), l.count(2.0), sum(l)
# call: f([2.0, 1.0, 2.0], torch.ones(1))
# call: f([1.0], torch.ones(1))
# ---- expect
f([2.0, 1.0, 2.0], torch.ones(1)) -> ([1.0, 2.0, 2.0], [2.0, 2.0, 1.0], 0, 2, 5.0)
  l becomes [2.0, 2.0, 1.0]
f([1.0], torch.ones(1)) raises RuntimeError: '2' is not in list
