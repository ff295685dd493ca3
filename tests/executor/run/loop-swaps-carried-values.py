# run: run
def f(a, b, n: int):
  for i in range(n):
    a, b = b, a + b
  return a, b
# call: f(torch.zeros(1), torch.ones(1), 5)
# call: f(torch.zeros(1), torch.ones(1), 0)
# ---- expect
f(torch.zeros(1), torch.ones(1), 5) -> (tensor([5.0]), tensor([8.0]))
f(torch.zeros(1), torch.ones(1), 0) -> (tensor([0.0]), tensor([1.0]))
  result[0] is a
  result[1] is b
