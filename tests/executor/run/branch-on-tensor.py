# run: run
def f(x):
  if x.sum() > 0:
    return x * 2
  return x - 1
# call: f(torch.ones(2))
# call: f(-torch.ones(2))
# ---- expect
f(torch.ones(2)) -> tensor([2.0, 2.0])
f(-torch.ones(2)) -> tensor([-2.0, -2.0])
