# run: run
def f(x, v):
  y = x * 1
  y[y > 0] = v
  y[0] = y[1] * 2
  return y * x
# call: f(torch.tensor([1., -2., 3.]).requires_grad_(), torch.tensor(5.0).requires_grad_())
# ---- expect
f(torch.tensor([1., -2., 3.]).requires_grad_(), torch.tensor(5.0).requires_grad_()) -> tensor([-4.0, 4.0, 15.0], requires_grad=True)
  gradient of x: tensor([-4.0, -4.0, 10.0])
  gradient of v: tensor(6.0)
