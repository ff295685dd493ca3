# run: run
def f(x, w, b: Optional[Tensor]):
  return torch.nn.functional.linear(x, w, b).relu()
# let: w = torch.randn(2, 3).requires_grad_()
# call: f(torch.randn(4, 3).requires_grad_(), w, torch.randn(2).requires_grad_())
# call: f(torch.randn(3), w, None)
# call: f(torch.randn(2, 2, 3), w, torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(4, 3).requires_grad_(), w, torch.randn(2).requires_grad_()) -> tensor([[1.0508, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], requires_grad=True)
  gradient of x: tensor([[1.541, -0.29343, -2.1788], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
  gradient of w: tensor([[0.40335, 0.83803, -0.71926], [0.0, 0.0, 0.0]])
  gradient of b: tensor([1.0, 0.0])
f(torch.randn(3), w, None) -> tensor([1.9428, 0.32637], requires_grad=True)
  gradient of w: tensor([[0.40335, 0.83803, -0.71926], [0.80669, 1.6761, -1.4385]])
f(torch.randn(2, 2, 3), w, torch.randn(2).requires_grad_()) -> tensor([[[1.0508, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], requires_grad=True)
  gradient of w: tensor([[0.40335, 0.83803, -0.71926], [0.0, 0.0, 0.0]])
  gradient of b: tensor([1.0, 0.0])
