# run: run
def f(x):
  i = (x > 0).int()
  return i * 2, x.argmax(), x.round() * x, x.sign() + x
# call: f(torch.tensor([1.5, -2.]).requires_grad_())
# ---- expect
f(torch.tensor([1.5, -2.]).requires_grad_()) -> (tensor([2, 0], dtype=int32), tensor(0, dtype=int64), tensor([3.0, 4.0], requires_grad=True), tensor([2.5, -3.0], requires_grad=True))
  gradient of x: tensor([3.0, -2.0])
