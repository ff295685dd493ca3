# run: run
def f(x, y):
  return torch.div(x, y, rounding_mode="floor"), x % y, torch.fmod(x, y) * y
# call: f(torch.tensor([5., -5.]).requires_grad_(), torch.tensor([3., 2.]).requires_grad_())
# ---- expect
f(torch.tensor([5., -5.]).requires_grad_(), torch.tensor([3., 2.]).requires_grad_()) -> (tensor([1.0, -3.0], requires_grad=True), tensor([2.0, 1.0], requires_grad=True), tensor([6.0, -2.0], requires_grad=True))
  gradient of x: tensor([4.0, 6.0])
  gradient of y: tensor([-2.0, 12.0])
