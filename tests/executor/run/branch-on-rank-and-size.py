# run: run
def f(x):
  if x.dim() == 2 and x.size(1) == 3:
    return x.sum(1)
  elif x.dim() > 2:
    return x.flatten()
  return x + 1
# call: f(torch.ones(2, 3))
# call: f(torch.ones(2, 4))
# call: f(torch.ones(1, 1, 2))
# call: f(torch.ones([]))
# ---- expect
f(torch.ones(2, 3)) -> tensor([3.0, 3.0])
f(torch.ones(2, 4)) -> tensor([[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]])
f(torch.ones(1, 1, 2)) -> tensor([1.0, 1.0])
  result shares memory with x
f(torch.ones([])) -> tensor(2.0)
