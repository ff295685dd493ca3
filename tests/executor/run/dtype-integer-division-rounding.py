# run: run
def f(x, y):
  return x // y, x % y, torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y), x / y
# call: f(torch.tensor([-7, 7]), torch.tensor([2, -2]))
# call: f(torch.tensor([-7., 7.]), torch.tensor([2., -2.]))
# call: f(torch.tensor([1]), torch.tensor([0]))
# ---- expect
f(torch.tensor([-7, 7]), torch.tensor([2, -2])) -> (tensor([-4, -4], dtype=int64), tensor([1, -1], dtype=int64), tensor([-3, -3], dtype=int64), tensor([-1, 1], dtype=int64), tensor([-3.5, -3.5]))
f(torch.tensor([-7., 7.]), torch.tensor([2., -2.])) -> (tensor([-4.0, -4.0]), tensor([1.0, -1.0]), tensor([-3.0, -3.0]), tensor([-1.0, 1.0]), tensor([-3.5, -3.5]))
f(torch.tensor([1]), torch.tensor([0])) raises RuntimeError: ZeroDivisionError
