# run: run
def f(x):
  y = x * 3
  if y.sum() > 0:
    y = y.exp() * x
  return y + 1
# call: f(torch.ones(2).requires_grad_())
# call: f((-torch.ones(2)).requires_grad_())
# ---- expect
f(torch.ones(2).requires_grad_()) -> tensor([21.086, 21.086], requires_grad=True)
  gradient of x: tensor([80.342, 160.68])
f((-torch.ones(2)).requires_grad_()) -> tensor([-2.0, -2.0], requires_grad=True)
  gradient of x: tensor([3.0, 6.0])
