# run: run
def f(x, n: int):
  for i in range(n):
    x = x + i
  return x
# call: f(torch.zeros(1), 0)
# call: f(torch.zeros(1), 3)
# call: f(torch.zeros(1), 100)
# ---- expect
f(torch.zeros(1), 0) -> tensor([0.0])
  result is x
f(torch.zeros(1), 3) -> tensor([3.0])
f(torch.zeros(1), 100) -> tensor([4950.0])
