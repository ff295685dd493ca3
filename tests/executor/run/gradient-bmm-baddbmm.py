# run: run
def f(x, y, z):
  return torch.bmm(x, y) + torch.baddbmm(z, x, y, beta=0.5)
# call: f(torch.randn(2, 2, 3).requires_grad_(), torch.randn(2, 3, 2).requires_grad_(), torch.randn(2, 2, 2).requires_grad_())
# call: f(torch.randn(2, 2, 3).requires_grad_(), torch.randn(2, 3, 2), torch.randn(1, 2, 2).requires_grad_())
# ---- expect
f(torch.randn(2, 2, 3).requires_grad_(), torch.randn(2, 3, 2).requires_grad_(), torch.randn(2, 2, 2).requires_grad_()) -> tensor([[[0.55208, 2.3261], [2.2884, -0.45413]], [[-1.4611, -0.25008], [0.87906, -0.89478]]], requires_grad=True)
  gradient of x: tensor([[[0.80232, -1.8619, -0.2798], [0.94171, -2.4039, -0.3902]], [[-7.9775, 6.1578, 5.6103], [-9.3496, 7.2018, 6.5901]]])
  gradient of y: tensor([[[4.5437, 5.1464], [-3.3756, -3.7693], [-7.954, -8.9761]], [[-0.23047, -0.23047], [0.41772, 0.48669], [-1.5844, -1.7379]]])
  gradient of z: tensor([[[0.5, 0.57143], [0.64286, 0.71429]], [[0.78571, 0.85714], [0.92857, 1.0]]])
f(torch.randn(2, 2, 3).requires_grad_(), torch.randn(2, 3, 2), torch.randn(1, 2, 2).requires_grad_()) -> tensor([[[0.55208, 2.3261], [2.2884, -0.45413]], [[-1.3548, 0.74105], [-0.025477, -0.63407]]], requires_grad=True)
  gradient of x: tensor([[[0.80232, -1.8619, -0.2798], [0.94171, -2.4039, -0.3902]], [[-7.9775, 6.1578, 5.6103], [-9.3496, 7.2018, 6.5901]]])
  gradient of z: tensor([[[1.2857, 1.4286], [1.5714, 1.7143]]])
