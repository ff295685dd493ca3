# run: run
def f(x):
  a = torch.rand_like(x)
  b = torch.rand_like(x)
  return a - b, torch.bernoulli(x * 0.5) - torch.bernoulli(x * 0.5)
# call: f(torch.ones(3))
# ---- expect
f(torch.ones(3)) -> (tensor([0.022947, 0.25003, -0.39679]), tensor([0.0, 0.0, 0.0]))
  draws random numbers
