# run: run
# The numbers that nobody uses are drawn all the same.
def f(x):
  torch.rand([2])
  y = torch.dropout(x, 0.5, True)
  return torch.rand([1])
# call: f(torch.ones(4))
# ---- expect
f(torch.ones(4)) -> tensor([0.63868])
  draws random numbers
