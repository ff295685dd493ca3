# run: run
# After one iteration y is x itself.
def f(x, n: int):
  y = x * 1
  for i in range(n):
    y.add_(1)
    y = x
  return y, x
# call: f(torch.zeros(2), 0)
# call: f(torch.zeros(2), 1)
# call: f(torch.zeros(2), 2)
# ---- expect
f(torch.zeros(2), 0) -> (tensor([0.0, 0.0]), tensor([0.0, 0.0]))
  result[1] is x
f(torch.zeros(2), 1) -> (tensor([0.0, 0.0]), tensor([0.0, 0.0]))
  result[0] is x
  result[1] is x
f(torch.zeros(2), 2) -> (tensor([1.0, 1.0]), tensor([1.0, 1.0]))
  x becomes tensor([1.0, 1.0])
  result[0] is x
  result[1] is x
