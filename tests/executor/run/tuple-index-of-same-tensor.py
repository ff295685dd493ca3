# run: run
def f(x):
  t = (x, x * 1, x)
  t[0].add_(1)
  return t[2] is t[0], t[1], t
# call: f(torch.zeros(1))
# ---- expect
f(torch.zeros(1)) -> (True, tensor([0.0]), (tensor([1.0]), tensor([0.0]), tensor([1.0])))
  x becomes tensor([1.0])
  result[2][0] is x
  result[2][1] is result[1]
  result[2][2] is x
