# run: run
def f(x):
  return x.sum(), x + 1, torch.cat([x, x]), x.view(-1), x.prod()
# call: f(torch.zeros(0))
# call: f(torch.zeros(2, 0))
# call: f(torch.zeros(0, 3))
# ---- expect
f(torch.zeros(0)) -> (tensor(0.0), tensor([]), tensor([]), tensor([]), tensor(1.0))
  result[3] shares memory with x
f(torch.zeros(2, 0)) -> (tensor(0.0), tensor([], size=(2, 0)), tensor([], size=(4, 0)), tensor([]), tensor(1.0))
  result[3] shares memory with x
f(torch.zeros(0, 3)) -> (tensor(0.0), tensor([], size=(0, 3)), tensor([], size=(0, 3)), tensor([]), tensor(1.0))
  result[3] shares memory with x
