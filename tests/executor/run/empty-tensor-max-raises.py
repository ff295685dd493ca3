# run: run
def f(x):
  return x.max()
# call: f(torch.ones(2))
# call: f(torch.zeros(0))
# ---- expect
f(torch.ones(2)) -> tensor(1.0)
f(torch.zeros(0)) raises RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.
