# run: run
def f(x, n: int):
  v = x[0]
  total = torch.zeros(2)
  for i in range(n):
    total = total + v
    x.add_(1)
  return total, v
# call: f(torch.zeros(2, 2), 3)
# call: f(torch.zeros(2, 2), 0)
# ---- expect
f(torch.zeros(2, 2), 3) -> (tensor([3.0, 3.0]), tensor([3.0, 3.0]))
  x becomes tensor([[3.0, 3.0], [3.0, 3.0]])
  result[1] shares memory with x
f(torch.zeros(2, 2), 0) -> (tensor([0.0, 0.0]), tensor([0.0, 0.0]))
  result[1] shares memory with x
