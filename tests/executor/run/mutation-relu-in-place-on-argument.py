# run: run
def f(x):
  return torch.relu_(x) + 1
# call: f(torch.tensor([-1., 2.]))
# ---- expect
f(torch.tensor([-1., 2.])) -> tensor([1.0, 3.0])
  x becomes tensor([0.0, 2.0])
