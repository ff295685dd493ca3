# run: run
def f(x, y):
  return (x * x.conj()).real * y, x.abs() + y
# call: f(torch.view_as_complex(torch.ones(2, 2)).requires_grad_(), torch.ones(2).requires_grad_())
# ---- expect
f(torch.view_as_complex(torch.ones(2, 2)).requires_grad_(), torch.ones(2).requires_grad_()) -> (tensor([2.0, 2.0], requires_grad=True), tensor([2.4142, 2.4142], requires_grad=True))
  gradient of x: tensor([(2.7071+2.7071j), (5.4142+5.4142j)], dtype=complex64)
  gradient of y: tensor([3.0, 6.0])
