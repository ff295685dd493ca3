# run: run
def f(x):
  return x * 0, x - x, x + 0, x * 1, x / x, x == x, 0 - x
# call: f(torch.tensor([float("nan"), float("inf"), -0.0, 2.0]))
# ---- expect
f(torch.tensor([float("nan"), float("inf"), -0.0, 2.0])) -> (tensor([nan, nan, -0.0, 0.0]), tensor([nan, nan, 0.0, 0.0]), tensor([nan, inf, 0.0, 2.0]), tensor([nan, inf, -0.0, 2.0]), tensor([nan, nan, nan, 1.0]), tensor([False, True, True, True], dtype=bool), tensor([nan, -inf, 0.0, -2.0]))
