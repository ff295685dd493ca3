# run: run
def f(x):
  a = x[:, 0]
  x[:, 1] = a
  a.zero_()
  return x
# call: f(torch.arange(4.).view(2, 2))
# ---- expect
f(torch.arange(4.).view(2, 2)) -> tensor([[0.0, 0.0], [0.0, 2.0]])
  x becomes tensor([[0.0, 0.0], [0.0, 2.0]])
  result is x
