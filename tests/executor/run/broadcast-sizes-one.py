# run: run
def f(x, y):
  return (x + y) * x, (x * y).sum(0)
# call: f(torch.ones(3, 1), torch.ones(1, 2))
# call: f(torch.ones(3, 2), torch.ones(1, 1))
# call: f(torch.ones(3, 2), torch.ones(2, 2))
# ---- expect
f(torch.ones(3, 1), torch.ones(1, 2)) -> (tensor([[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]), tensor([3.0, 3.0]))
f(torch.ones(3, 2), torch.ones(1, 1)) -> (tensor([[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]), tensor([3.0, 3.0]))
f(torch.ones(3, 2), torch.ones(2, 2)) raises RuntimeError: The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0
