# run: run
def f(x):
  y = x * 0 + x / x
  return y * x.sqrt(), x.log() * 0
# call: f(torch.tensor([float("nan"), float("inf"), 0.0, -1.0]).requires_grad_())
# ---- expect
f(torch.tensor([float("nan"), float("inf"), 0.0, -1.0]).requires_grad_()) -> (tensor([nan, nan, nan, nan], requires_grad=True), tensor([nan, nan, nan, nan], requires_grad=True))
  gradient of x: tensor([nan, nan, nan, nan])
