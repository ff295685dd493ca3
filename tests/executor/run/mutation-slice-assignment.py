# run: run
def f(x, y):
  x[1:, :] = y
  x[..., 0] -= 1
  return x.sum()
# call: f(torch.zeros(3, 2), torch.ones(2, 2))
# call: f(torch.zeros(3, 2), torch.ones(2))
# call: f(torch.zeros(3, 2), torch.ones(3, 2))
# ---- expect
f(torch.zeros(3, 2), torch.ones(2, 2)) -> tensor(1.0)
  x becomes tensor([[-1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
f(torch.zeros(3, 2), torch.ones(2)) -> tensor(1.0)
  x becomes tensor([[-1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
f(torch.zeros(3, 2), torch.ones(3, 2)) raises RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
