# run: run
def f(x, y):
  return torch.einsum("ij,jk->ik", [x, y]) * torch.einsum("ij->i", [x]).sum()
# call: f(torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# ---- expect
f(torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_()) -> tensor([[-6.069, -2.8833], [-5.2472, -1.876]], requires_grad=True)
  gradient of x: tensor([[3.5469, 11.452, 8.882], [1.1917, 13.582, 9.6686]])
  gradient of y: tensor([[-7.0817, -9.0828], [5.9792, 7.2863], [12.834, 16.228]])
