# run: run
def f(x, s):
  return x * s, s * x, x + s
# call: f(torch.arange(2), torch.tensor(0.5))
# call: f(torch.arange(2.), torch.tensor(2))
# call: f(torch.ones(2, dtype=torch.float16), torch.tensor(0.5, dtype=torch.float64))
# call: f(torch.ones(2, dtype=torch.float16), torch.ones(1, dtype=torch.float64))
# ---- expect
f(torch.arange(2), torch.tensor(0.5)) -> (tensor([0.0, 0.5]), tensor([0.0, 0.5]), tensor([0.5, 1.5]))
f(torch.arange(2.), torch.tensor(2)) -> (tensor([0.0, 2.0]), tensor([0.0, 2.0]), tensor([2.0, 3.0]))
f(torch.ones(2, dtype=torch.float16), torch.tensor(0.5, dtype=torch.float64)) -> (tensor([0.5, 0.5], dtype=float16), tensor([0.5, 0.5], dtype=float16), tensor([1.5, 1.5], dtype=float16))
f(torch.ones(2, dtype=torch.float16), torch.ones(1, dtype=torch.float64)) -> (tensor([1.0, 1.0], dtype=float64), tensor([1.0, 1.0], dtype=float64), tensor([2.0, 2.0], dtype=float64))
