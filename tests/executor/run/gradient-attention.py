# run: run
def f(q, k, v):
  s = torch.softmax(q @ k.transpose(-2, -1) / 2.0, -1)
  return s @ v
# call: f(torch.randn(1, 2, 3).requires_grad_(), torch.randn(1, 2, 3).requires_grad_(), torch.randn(1, 2, 3).requires_grad_())
# ---- expect
f(torch.randn(1, 2, 3).requires_grad_(), torch.randn(1, 2, 3).requires_grad_(), torch.randn(1, 2, 3).requires_grad_()) -> tensor([[[-0.66184, 0.76899, -0.78386], [-0.38695, 0.30112, -0.37848]]], requires_grad=True)
  gradient of q: tensor([[[-0.064348, -0.11444, 0.071895], [-0.14649, -0.26052, 0.16367]]])
  gradient of k: tensor([[[-0.22614, 0.22035, 0.42777], [0.22614, -0.22035, -0.42777]]]), strides (6, 1, 2)
  gradient of v: tensor([[[1.6337, 1.898, 2.1623], [0.96632, 1.102, 1.2377]]])
