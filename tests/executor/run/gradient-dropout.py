# run: run
def f(x, training: bool):
  return torch.dropout(x * 2, 0.5, training) * x
# call: f(torch.ones(6).requires_grad_(), True)
# call: f(torch.ones(6).requires_grad_(), False)
# ---- expect
f(torch.ones(6).requires_grad_(), True) -> tensor([4.0, 4.0, 4.0, 4.0, 0.0, 4.0], requires_grad=True)
  draws random numbers
  gradient of x: tensor([8.0, 9.6, 11.2, 12.8, 0.0, 16.0])
f(torch.ones(6).requires_grad_(), False) -> tensor([2.0, 2.0, 2.0, 2.0, 2.0, 2.0], requires_grad=True)
  gradient of x: tensor([4.0, 4.8, 5.6, 6.4, 7.2, 8.0])
