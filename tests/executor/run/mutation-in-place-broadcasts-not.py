# run: run
def f(x, y):
  z = x * 2
  z.add_(y)
  return z
# call: f(torch.ones(2, 3), torch.ones(3))
# call: f(torch.ones(3), torch.ones(2, 3))
# ---- expect
f(torch.ones(2, 3), torch.ones(3)) -> tensor([[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]])
f(torch.ones(3), torch.ones(2, 3)) raises RuntimeError: output with shape [3] doesn't match the broadcast shape [2, 3]
