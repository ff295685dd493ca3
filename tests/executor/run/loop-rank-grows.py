# run: run
def f(x, n: int):
  for i in range(n):
    x = x.unsqueeze(0) + i
  return x, x.dim()
# call: f(torch.ones(1), 3)
# call: f(torch.ones(1), 0)
# ---- expect
f(torch.ones(1), 3) -> (tensor([[[[4.0]]]]), 4)
f(torch.ones(1), 0) -> (tensor([1.0]), 1)
  result[0] is x
