# run: run
def f(x):
  torch.manual_seed(7)
  a = torch.rand_like(x)
  torch.manual_seed(7)
  b = torch.rand_like(x)
  return a - b
# call: f(torch.ones(2))
# ---- expect
f(torch.ones(2)) -> tensor([0.0, 0.0])
  draws random numbers
