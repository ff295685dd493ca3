# run: run
def f(x):
  return x.cumsum(0) * 2, x.cumprod(0), x.logsumexp(0), x.flip(0) * x
# call: f(torch.tensor([1., 0., 2.]).requires_grad_())
# ---- expect
f(torch.tensor([1., 0., 2.]).requires_grad_()) -> (tensor([2.0, 2.0, 6.0], requires_grad=True), tensor([1.0, 0.0, 0.0], requires_grad=True), tensor(2.4076, requires_grad=True), tensor([2.0, 0.0, 2.0], requires_grad=True))
  gradient of x: tensor([16.245, 12.59, 7.6652])
