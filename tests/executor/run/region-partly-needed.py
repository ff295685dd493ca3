# run: run
# Of three results some have gradients, and of two arguments one.
def f(x, y):
  a = x * y
  b = y * y + y
  c = a.detach() * b
  return a, b, c
# call: f(torch.randn(2).requires_grad_(), torch.randn(2))
# call: f(torch.randn(2), torch.randn(2).requires_grad_())
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_(), torch.randn(2)) -> (tensor([-3.3575, -0.16679], requires_grad=True), tensor([2.5683, 0.89155]), tensor([-8.6232, -0.1487]))
  gradient of x: tensor([-2.1788, 1.1369])
f(torch.randn(2), torch.randn(2).requires_grad_()) -> (tensor([-3.3575, -0.16679], requires_grad=True), tensor([2.5683, 0.89155], requires_grad=True), tensor([-8.6232, -0.1487], requires_grad=True))
  gradient of y: tensor([9.4565, 2.974])
f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_()) -> (tensor([-3.3575, -0.16679], requires_grad=True), tensor([2.5683, 0.89155], requires_grad=True), tensor([-8.6232, -0.1487], requires_grad=True))
  gradient of x: tensor([-2.1788, 1.1369])
  gradient of y: tensor([9.4565, 2.974])
