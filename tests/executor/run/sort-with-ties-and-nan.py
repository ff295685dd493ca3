# run: run
def f(x):
  v, i = torch.sort(x, stable=True)
  return v, i, torch.topk(x, 2).values
# call: f(torch.tensor([2., 1., 2., 0.]))
# ---- expect
f(torch.tensor([2., 1., 2., 0.])) -> (tensor([0.0, 1.0, 2.0, 2.0]), tensor([3, 1, 0, 2], dtype=int64), tensor([2.0, 2.0]))
