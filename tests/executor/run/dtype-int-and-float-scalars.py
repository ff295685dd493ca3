# run: run
def f(x, n: int, v: float):
  return x + n, x + v, x * n * v, x / n, x // n, x % n, x ** n
# call: f(torch.arange(3), 2, 0.5)
# call: f(torch.arange(3.), 2, 0.5)
# call: f(torch.tensor([True, False]), 2, 0.5)
# ---- expect
f(torch.arange(3), 2, 0.5) -> (tensor([2, 3, 4], dtype=int64), tensor([0.5, 1.5, 2.5]), tensor([0.0, 1.0, 2.0]), tensor([0.0, 0.5, 1.0]), tensor([0, 0, 1], dtype=int64), tensor([0, 1, 0], dtype=int64), tensor([0, 1, 4], dtype=int64))
f(torch.arange(3.), 2, 0.5) -> (tensor([2.0, 3.0, 4.0]), tensor([0.5, 1.5, 2.5]), tensor([0.0, 1.0, 2.0]), tensor([0.0, 0.5, 1.0]), tensor([0.0, 0.0, 1.0]), tensor([0.0, 1.0, 0.0]), tensor([0.0, 1.0, 4.0]))
f(torch.tensor([True, False]), 2, 0.5) -> (tensor([3, 2], dtype=int64), tensor([1.5, 0.5]), tensor([1.0, 0.0]), tensor([0.5, 0.0]), tensor([0, 0], dtype=int64), tensor([1, 0], dtype=int64), tensor([1, 0], dtype=int64))
