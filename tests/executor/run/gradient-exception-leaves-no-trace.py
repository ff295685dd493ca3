# run: run
def f(x, y):
  a = x * 2 + 1
  b = a @ y
  return b * x
# call: f(torch.ones(2).requires_grad_(), torch.ones(2).requires_grad_())
# call: f(torch.ones(2).requires_grad_(), torch.ones(3).requires_grad_())
# ---- expect
f(torch.ones(2).requires_grad_(), torch.ones(2).requires_grad_()) -> tensor([6.0, 6.0], requires_grad=True)
  gradient of x: tensor([12.0, 18.0])
  gradient of y: tensor([9.0, 9.0])
f(torch.ones(2).requires_grad_(), torch.ones(3).requires_grad_()) raises RuntimeError: inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 and 3 elements respectively
