# run: run
def f(x):
  for i in range(3):
    x.add_(1)
    x.view(3 - i)
  return x
# call: f(torch.zeros(3))
# ---- expect
f(torch.zeros(3)) raises RuntimeError: shape '[2]' is invalid for input of size 3
  x becomes tensor([2.0, 2.0, 2.0])
