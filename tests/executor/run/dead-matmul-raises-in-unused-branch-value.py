# run: run
def f(x, y, c: bool):
  z = x
  if c:
    z = x @ y
  return x.sum()
# call: f(torch.ones(2, 2), torch.ones(3, 3), False)
# call: f(torch.ones(2, 2), torch.ones(3, 3), True)
# ---- expect
f(torch.ones(2, 2), torch.ones(3, 3), False) -> tensor(4.0)
f(torch.ones(2, 2), torch.ones(3, 3), True) raises RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x2 and 3x3)
