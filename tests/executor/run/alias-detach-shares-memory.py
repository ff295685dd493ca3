# run: run
def f(x):
  d = x.detach()
  d.add_(1)
  return x * 2, d.requires_grad
# call: f(torch.ones(2))
# ---- expect
f(torch.ones(2)) -> (tensor([4.0, 4.0]), False)
  x becomes tensor([2.0, 2.0])
