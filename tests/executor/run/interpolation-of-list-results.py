# run: run
def f(x):
  a, b = x.unbind(0)
  parts = torch.split(x, [1, 1], 0)
  return a + b, parts[0] * 2, len(parts)
# call: f(torch.ones(2, 2))
# call: f(torch.ones(3, 2))
# ---- expect
f(torch.ones(2, 2)) -> (tensor([2.0, 2.0]), tensor([[2.0, 2.0]]), 2)
f(torch.ones(3, 2)) raises RuntimeError: Expected 2 elements in a list but found 3
