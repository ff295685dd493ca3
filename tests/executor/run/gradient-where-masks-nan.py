# run: run
def f(x, y):
  return torch.where(x > 0, x.sqrt(), y * 0), x.masked_fill(x < 0, 0.0).log()
# call: f(torch.tensor([4., -1., 0.]).requires_grad_(), torch.ones(3).requires_grad_())
# ---- expect
f(torch.tensor([4., -1., 0.]).requires_grad_(), torch.ones(3).requires_grad_()) -> (tensor([2.0, 0.0, 0.0], requires_grad=True), tensor([1.3863, -inf, -inf], requires_grad=True))
  gradient of x: tensor([0.5, nan, nan])
  gradient of y: tensor([0.0, 0.0, 0.0])
