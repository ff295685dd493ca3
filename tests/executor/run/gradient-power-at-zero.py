# run: run
def f(x, n: int):
  return x ** n, x ** 2, x ** 0.5, torch.pow(2.0, x)
# call: f(torch.tensor([0., 2.]).requires_grad_(), 0)
# call: f(torch.tensor([0., 2.]).requires_grad_(), 3)
# ---- expect
f(torch.tensor([0., 2.]).requires_grad_(), 0) -> (tensor([1.0, 1.0], requires_grad=True), tensor([0.0, 4.0], requires_grad=True), tensor([0.0, 1.4142], requires_grad=True), tensor([1.0, 4.0], requires_grad=True))
  gradient of x: tensor([inf, 14.252])
f(torch.tensor([0., 2.]).requires_grad_(), 3) -> (tensor([0.0, 8.0], requires_grad=True), tensor([0.0, 4.0], requires_grad=True), tensor([0.0, 1.4142], requires_grad=True), tensor([1.0, 4.0], requires_grad=True))
  gradient of x: tensor([inf, 38.252])
