# run: run
def f(x):
  if x.dtype == torch.int64:
    return x // 2
  elif x.is_floating_point():
    return x * 0.5
  return ~x
# call: f(torch.arange(4))
# call: f(torch.arange(4.))
# call: f(torch.tensor([True]))
# ---- expect
f(torch.arange(4)) -> tensor([0, 0, 1, 1], dtype=int64)
f(torch.arange(4.)) -> tensor([0.0, 0.5, 1.0, 1.5])
f(torch.tensor([True])) -> tensor([False], dtype=bool)
