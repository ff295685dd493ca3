# run: run
def ranking(x, y, t, reduction: int):
  z = torch.margin_ranking_loss(x, y, t, 0.5, reduction)
  return z * 2 - 3, z.dtype

def poisson(x, t, log_input: bool, full: bool, reduction: int):
  z = torch.poisson_nll_loss(x, t, log_input, full, 1e-8, reduction)
  return z * 2 - 3, z.dtype

def distance(x, y):
  z = torch.nn.functional.l1_loss(x, y, reduction=2)
  return z * 2 - 3, z.dtype

def products(s, x):
  z = torch.einsum(",i->i", [s, x])
  return z * 2 - 3, z.dtype

def total(x):
  z = torch.einsum("i->", [x])
  return z * 2 - 3, z.dtype

# let: n = torch.arange(3)
# let: x = torch.tensor([0.5, 1.5, 2.5])
# call: ranking(torch.tensor(1.5).double(), n, x, 0)
# call: ranking(torch.tensor(1.5).double(), n, x, 1)
# call: ranking(n, x.half(), x.requires_grad_(), 2)
# call: poisson(n, x.half(), True, False, 0)
# call: poisson(n, x.half(), False, False, 0)
# call: poisson(x.half(), n, True, False, 1)
# call: poisson(n, x.double(), True, True, 2)
# call: poisson(x.requires_grad_(), x.double(), True, True, 0)
# call: poisson(x.half().requires_grad_(), n + 2, True, True, 0)
# call: distance(n.int(), n.int() + 1)
# call: distance(x, n)
# call: products(torch.tensor(1.5).double(), x)
# call: total(n.int())
# ---- expect
ranking(torch.tensor(1.5).double(), n, x, 0) -> (tensor([-3.0, -3.0, 0.5], dtype=float64), 7)
ranking(torch.tensor(1.5).double(), n, x, 1) -> (tensor(-1.8333, dtype=float64), 7)
ranking(n, x.half(), x.requires_grad_(), 2) -> (tensor(4.5, requires_grad=True), 6)
  gradient of t: tensor([1.0, 1.0, 1.0])
poisson(n, x.half(), True, False, 0) -> (tensor([-1.0, -0.56344, 1.7781]), 6)
poisson(n, x.half(), False, False, 0) -> (tensor([15.421, -1.0, -2.4657]), 6)
poisson(x.half(), n, True, False, 1) -> (tensor(4.8711, dtype=float16), 5)
poisson(n, x.double(), True, True, 2) -> (tensor(9.01, dtype=float64), 7)
poisson(x.requires_grad_(), x.double(), True, True, 0) -> (tensor([-0.20256, 1.9231, 11.201], dtype=float64, requires_grad=True), 7)
  gradient of x: tensor([1.2974, 6.6615, 33.195])
poisson(x.half().requires_grad_(), n + 2, True, True, 0) -> (tensor([-0.40039, 0.48828, 7.6719], dtype=float16, requires_grad=True), 5)
  gradient of x: tensor([-0.70312, 4.4375, 32.719], dtype=float16)
distance(n.int(), n.int() + 1) -> (tensor(3, dtype=int64), 4)
distance(x, n) -> (tensor(0.0), 6)
products(torch.tensor(1.5).double(), x) -> (tensor([-1.5, 1.5, 4.5], dtype=float64), 7)
total(n.int()) -> (tensor(3, dtype=int64), 4)
