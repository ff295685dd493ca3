# run: run
# The first of two exceptions is the one that comes.
def f(x: Tensor, l: List[int], m: int, n: int):
  c = m > 0
  if c:
    a = x.view(n)
  else:
    a = x
  k = l[n]
  if c:
    b = a.sin() + k
  else:
    b = a
  return b.exp() + a
# call: f(torch.ones(4), [1, 2, 3, 4, 5], 1, 4)
# call: f(torch.ones(4), [1], 1, 3)
# ---- expect
f(torch.ones(4), [1, 2, 3, 4, 5], 1, 4) -> tensor([345.29, 345.29, 345.29, 345.29])
f(torch.ones(4), [1], 1, 3) raises RuntimeError: shape '[3]' is invalid for input of size 4
