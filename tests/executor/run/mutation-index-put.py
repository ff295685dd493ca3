# run: run
def f(x, i):
  y = x.clone()
  y[i] = 1.0
  y[0] += 2
  return y, x
# call: f(torch.zeros(4), torch.tensor([1, 3]))
# call: f(torch.zeros(4), torch.tensor([True, False, False, True]))
# ---- expect
f(torch.zeros(4), torch.tensor([1, 3])) -> (tensor([2.0, 1.0, 0.0, 1.0]), tensor([0.0, 0.0, 0.0, 0.0]))
  result[1] is x
f(torch.zeros(4), torch.tensor([True, False, False, True])) -> (tensor([3.0, 0.0, 0.0, 1.0]), tensor([0.0, 0.0, 0.0, 0.0]))
  result[1] is x
