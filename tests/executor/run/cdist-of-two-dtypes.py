# run: run
# Distances to no points have the dtype of the first argument.
def f(x, y):
  z = torch.cdist(x * 1, y * 1).to(torch.float64)
  return z * 2 + 1, z.dtype
# call: f(torch.zeros(0, 3), torch.ones(1, 3, dtype=torch.float64))
# call: f(torch.zeros(2, 0), torch.ones(2, 0, dtype=torch.float64))
# call: f(torch.ones(2, 3), torch.zeros(2, 3))
# ---- expect
f(torch.zeros(0, 3), torch.ones(1, 3, dtype=torch.float64)) -> (tensor([], size=(0, 1), dtype=float64), 7)
f(torch.zeros(2, 0), torch.ones(2, 0, dtype=torch.float64)) -> (tensor([[1.0, 1.0], [1.0, 1.0]], dtype=float64), 7)
f(torch.ones(2, 3), torch.zeros(2, 3)) -> (tensor([[4.4641, 4.4641], [4.4641, 4.4641]], dtype=float64), 7)
