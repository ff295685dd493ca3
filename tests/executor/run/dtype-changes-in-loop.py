# run: run
def f(x, n: int):
  for i in range(n):
    x = x / 2
  return x, x.dtype == torch.int64
# call: f(torch.arange(3), 0)
# call: f(torch.arange(3), 2)
# ---- expect
f(torch.arange(3), 0) -> (tensor([0, 1, 2], dtype=int64), True)
  result[0] is x
f(torch.arange(3), 2) -> (tensor([0.0, 0.25, 0.5]), False)
