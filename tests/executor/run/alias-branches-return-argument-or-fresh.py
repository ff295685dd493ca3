# run: run
def f(x, c: bool):
  y = x if c else x + 0
  y.add_(1)
  return y, x * 1
# call: f(torch.zeros(2), True)
# call: f(torch.zeros(2), False)
# ---- expect
f(torch.zeros(2), True) -> (tensor([1.0, 1.0]), tensor([1.0, 1.0]))
  x becomes tensor([1.0, 1.0])
  result[0] is x
f(torch.zeros(2), False) -> (tensor([1.0, 1.0]), tensor([0.0, 0.0]))
