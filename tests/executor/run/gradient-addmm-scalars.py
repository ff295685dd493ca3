# run: run
def f(a, x, y):
  return torch.addmm(a, x, y, beta=2, alpha=3) * a
# call: f(torch.randn(2, 2).requires_grad_(), torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# call: f(torch.randn(2).requires_grad_(), torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# ---- expect
f(torch.randn(2, 2).requires_grad_(), torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_()) -> tensor([[11.282, 1.6574], [5.9108, -0.52796]], requires_grad=True)
  gradient of a: tensor([[10.403, -8.3139], [-11.784, 0.41611]])
  gradient of x: tensor([[-2.9719, -5.2522, -5.0961], [7.1206, 13.086, 12.088]])
  gradient of y: tensor([[-14.143, 4.1311], [1.3699, -0.81154], [6.2587, -1.8491]])
f(torch.randn(2).requires_grad_(), torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_()) -> tensor([[14.721, 0.35825], [4.9684, -1.2009]], requires_grad=True)
  gradient of a: tensor([23.145, 4.6014])
  gradient of x: tensor([[-2.8517, -2.9719, -5.2522], [-4.8317, -4.9176, -8.5384]])
  gradient of y: tensor([[-20.849, 5.0196], [5.7356, -1.3773], [1.4432, -0.20249]])
