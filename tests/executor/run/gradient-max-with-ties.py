# run: run
def f(x):
  v, i = x.max(0)
  return v * 2, i, x.max(), x.amax(1), torch.maximum(x, x * 1)
# call: f(torch.tensor([[1., 2.], [1., 0.]]).requires_grad_())
# ---- expect
f(torch.tensor([[1., 2.], [1., 0.]]).requires_grad_()) -> (tensor([2.0, 4.0], requires_grad=True), tensor([0, 0], dtype=int64), tensor(2.0, requires_grad=True), tensor([2.0, 1.0], requires_grad=True), tensor([[1.0, 2.0], [1.0, 0.0]], requires_grad=True))
  gradient of x: tensor([[3.0, 7.3333], [3.6667, 2.0]])
