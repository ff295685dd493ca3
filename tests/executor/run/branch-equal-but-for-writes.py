# run: run
def f(x, c: bool):
  if c:
    y = x + 1
    x.add_(1)
  else:
    x.add_(1)
    y = x + 1
  return y, x
# call: f(torch.zeros(1), True)
# call: f(torch.zeros(1), False)
# ---- expect
f(torch.zeros(1), True) -> (tensor([1.0]), tensor([1.0]))
  x becomes tensor([1.0])
  result[1] is x
f(torch.zeros(1), False) -> (tensor([2.0]), tensor([1.0]))
  x becomes tensor([1.0])
  result[1] is x
