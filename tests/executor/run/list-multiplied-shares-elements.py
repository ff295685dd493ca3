# run: run
def f(x):
  l = [x * 1] * 2
  l[0].add_(1)
  m = [[0]] * 2
  m[0].append(1)
  return l, m, l[0] is l[1]
# call: f(torch.zeros(2))
# ---- expect
f(torch.zeros(2)) -> ([tensor([1.0, 1.0]), tensor([1.0, 1.0])], [[0, 1], [0, 1]], True)
  result[0][1] is result[0][0]
