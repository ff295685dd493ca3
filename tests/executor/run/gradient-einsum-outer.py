# run: run
# Operands of which no letter is summed over are multiplied.
def f(x, y, z):
  a = torch.einsum("edb,eca->ecdab", [x, y]) * 2 + 1
  b = torch.einsum("ca, cab -> cab", [z, x]) - 1
  c = torch.einsum("ab,cd->dacb", [z, z]).relu()
  return a.sum() * b.exp() * c.sum()
# call: f(torch.randn(2, 3, 2).requires_grad_(), torch.randn(2, 2, 1).requires_grad_(), torch.randn(2, 3).requires_grad_())
# call: f(torch.randn(1, 3, 2).requires_grad_(), torch.randn(1, 1, 1).requires_grad_(), torch.randn(1, 3).requires_grad_())
# call: f(torch.randn(2, 3, 0).requires_grad_(), torch.randn(2, 2, 1).requires_grad_(), torch.randn(2, 3).requires_grad_())
# ---- expect
f(torch.randn(2, 3, 2).requires_grad_(), torch.randn(2, 2, 1).requires_grad_(), torch.randn(2, 3).requires_grad_()) -> tensor([[[48.604, 137.36], [51.597, 143.81], [306.06, 405.02]], [[63.288, 32.843], [89.12, 100.18], [48.784, 151.64]]], requires_grad=True)
  gradient of x: tensor([[[21.591, -35.742], [71.869, 117.41], [-323.16, -476.38]], [[-338.59, -272.09], [-133.97, -123.52], [-55.336, 250.76]]])
  gradient of y: tensor([[[-573.04], [-573.04]], [[-59.567], [-59.567]]])
  gradient of z: tensor([[-983.75, 723.45, -2291.3], [-930.19, 568.08, 751.91]]), strides (1, 2)
f(torch.randn(1, 3, 2).requires_grad_(), torch.randn(1, 1, 1).requires_grad_(), torch.randn(1, 3).requires_grad_()) -> tensor([[[9.7289, 2.0913], [12.818, 1.7769], [4.1418, 4.7012]]], requires_grad=True)
  gradient of x: tensor([[[19.017, 12.967], [-2.0432, 8.8187], [7.8565, 7.0711]]])
  gradient of y: tensor([[[-76.65]]])
  gradient of z: tensor([[56.858, -94.55, -78.305]])
f(torch.randn(2, 3, 0).requires_grad_(), torch.randn(2, 2, 1).requires_grad_(), torch.randn(2, 3).requires_grad_()) -> tensor([], size=(2, 3, 0), requires_grad=True)
  gradient of x: tensor([], size=(2, 3, 0))
  gradient of y: tensor([[[0.0], [0.0]], [[0.0], [0.0]]])
  gradient of z: tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), strides (1, 2)
