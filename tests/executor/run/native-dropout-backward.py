# run: run
def f(grad, mask, x):
  y = torch.native_dropout_backward(grad * x, mask, 1.25)
  return torch.tanh(y) * 2, y.dtype, y.size(0)
# let: mask = torch.tensor([True, False, True])
# call: f(torch.tensor([1., 2., -3.]), mask, torch.tensor([0.5, 1.5, 2.5]))
# call: f(torch.tensor([1., 2., -3.]).requires_grad_(), mask, torch.tensor([0.5, 1.5, 2.5]).requires_grad_())
# call: f(torch.arange(3), mask, torch.ones(2, 1).long())
# call: f(torch.tensor([1., 2., -3.]).double(), torch.tensor([[True], [False]]), torch.tensor(0.5))
# call: f(torch.tensor([1., 2., -3.]).half(), mask, torch.tensor([0.5, 1.5, 2.5]).half())
# ---- expect
f(torch.tensor([1., 2., -3.]), mask, torch.tensor([0.5, 1.5, 2.5])) -> (tensor([1.1092, 0.0, -2.0]), 6, 3)
f(torch.tensor([1., 2., -3.]).requires_grad_(), mask, torch.tensor([0.5, 1.5, 2.5]).requires_grad_()) -> (tensor([1.1092, 0.0, -2.0], requires_grad=True), 6, 3)
  gradient of grad: tensor([0.86552, 0.0, 0.0])
  gradient of x: tensor([1.731, 0.0, -0.0])
f(torch.arange(3), mask, torch.ones(2, 1).long()) -> (tensor([[0.0, 0.0, 1.9732], [0.0, 0.0, 1.9732]]), 6, 2)
f(torch.tensor([1., 2., -3.]).double(), torch.tensor([[True], [False]]), torch.tensor(0.5)) -> (tensor([[1.1092, 1.6966, -1.9081], [0.0, 0.0, -0.0]], dtype=float64), 7, 2)
f(torch.tensor([1., 2., -3.]).half(), mask, torch.tensor([0.5, 1.5, 2.5]).half()) -> (tensor([1.1094, 0.0, -2.0], dtype=float16), 5, 3)
