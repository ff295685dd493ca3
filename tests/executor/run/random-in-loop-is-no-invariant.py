# run: run
def f(n: int):
  t = torch.zeros([2])
  for i in range(n):
    t = t + torch.rand([2])
  return t
# call: f(3)
# call: f(0)
# ---- expect
f(3) -> tensor([1.19, 1.8139])
  draws random numbers
f(0) -> tensor([0.0, 0.0])
