# run: run
def f(x):
  n = int(x.sum())
  v = float(x[0])
  return n * 2, v / 2, x.item() if x.numel() == 1 else -1
# call: f(torch.tensor([2.5]))
# call: f(torch.tensor([2.5, 1.0]))
# ---- expect
f(torch.tensor([2.5])) -> (4, 1.25, 2.5)
f(torch.tensor([2.5, 1.0])) -> (6, 1.25, -1)
