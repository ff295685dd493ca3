# run: run
def f(x, c: bool):
  if c:
    raise ValueError("no: " + str(x.dim()))
  return x + 1
# call: f(torch.ones(2), False)
# call: f(torch.ones(2), True)
# ---- expect
f(torch.ones(2), False) -> tensor([2.0, 2.0])
f(torch.ones(2), True) raises ValueError: no: 1
