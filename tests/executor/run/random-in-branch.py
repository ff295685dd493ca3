# run: run
def f(x, c: bool):
  if c:
    y = torch.rand_like(x)
  else:
    y = x
  return y + torch.rand_like(x)
# call: f(torch.ones(2), True)
# call: f(torch.ones(2), False)
# ---- expect
f(torch.ones(2), True) -> tensor([1.1607, 1.014])
  draws random numbers
f(torch.ones(2), False) -> tensor([1.7576, 1.2793])
  draws random numbers
