# run: run
def f(x, y):
  z = x + y
  return x * 2
# call: f(torch.ones(2), torch.ones(1))
# call: f(torch.ones(2), torch.ones(3))
# ---- expect
f(torch.ones(2), torch.ones(1)) -> tensor([2.0, 2.0])
f(torch.ones(2), torch.ones(3)) raises RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
