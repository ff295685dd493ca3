# run: run
def f(x):
  return x, x
# call: f(torch.arange(3.))
# ---- expect
f(torch.arange(3.)) -> (tensor([0.0, 1.0, 2.0]), tensor([0.0, 1.0, 2.0]))
  result[0] is x
  result[1] is x
