# run: run
def f(x):
  return x.clamp(-1, 1) * x, x.clamp(min=0.0), x.clamp_max(0.5), torch.minimum(x, -x)
# call: f(torch.tensor([-2., -1., 0., 1., 2.]).requires_grad_())
# ---- expect
f(torch.tensor([-2., -1., 0., 1., 2.]).requires_grad_()) -> (tensor([2.0, 1.0, 0.0, 1.0, 2.0], requires_grad=True), tensor([0.0, 0.0, 0.0, 1.0, 2.0], requires_grad=True), tensor([-2.0, -1.0, 0.0, 0.5, 0.5], requires_grad=True), tensor([-2.0, -1.0, 0.0, -1.0, -2.0], requires_grad=True))
  gradient of x: tensor([1.0, 0.0, 3.0, 3.5, 2.0])
