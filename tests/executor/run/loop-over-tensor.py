# run: run
def f(x):
  s = x[0] * 0
  for row in x:
    s = s + row
    x.mul_(2)
  return s
# call: f(torch.ones(3, 2))
# ---- expect
f(torch.ones(3, 2)) -> tensor([7.0, 7.0])
  x becomes tensor([[8.0, 8.0], [8.0, 8.0], [8.0, 8.0]])
