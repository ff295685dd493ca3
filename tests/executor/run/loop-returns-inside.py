# run: run
def f(x, n: int):
  for i in range(n):
    x = x + 1
    for j in range(n):
      x = x * 2
      if i * j == 2:
        return x, i, j
  return x, -1, -1
# call: f(torch.ones(1), 2)
# call: f(torch.ones(1), 3)
# ---- expect
f(torch.ones(1), 2) -> (tensor([36.0]), -1, -1)
f(torch.ones(1), 3) -> (tensor([136.0]), 1, 2)
