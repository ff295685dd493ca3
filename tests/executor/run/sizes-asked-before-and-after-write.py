# run: run
def f(x):
  a = x.size(0)
  x.resize_(1)
  return a, x.size(0), x.numel()
# call: f(torch.ones(3))
# ---- expect
f(torch.ones(3)) -> (3, 1, 1)
  x becomes tensor([1.0])
