# run: run
# A tensordot at known dimensions is a product of matrices; of two sizes that are summed over together one may be 1.
def f(x, y):
  a = torch.tensordot(x, y, [1, -1], [0, 1]) * 2 + 1
  return a.relu() * torch.tensordot(x * 3, y.sin(), [2], [1]).sum()
# call: f(torch.randn(2, 3, 4).requires_grad_(), torch.randn(3, 4, 2).requires_grad_())
# call: f(torch.randn(2, 3, 4).requires_grad_(), torch.randn(3, 1, 2).requires_grad_())
# call: f(torch.randn(2, 1, 4).requires_grad_(), torch.randn(3, 4, 2).requires_grad_())
# call: f(torch.randn(0, 3, 4).requires_grad_(), torch.randn(3, 4, 2).requires_grad_())
# call: f(torch.randn(2, 3, 0).requires_grad_(), torch.randn(3, 1, 2).requires_grad_())
# call: f(torch.randn(2, 3, 4), torch.randn(3, 3, 2))
# ---- expect
f(torch.randn(2, 3, 4).requires_grad_(), torch.randn(3, 4, 2).requires_grad_()) -> tensor([[-0.0, -211.54], [-0.0, -405.67]], requires_grad=True)
  gradient of x: tensor([[[-111.59, 121.55, -38.072, 100.53], [-279.51, 17.494, -365.92, 116.02], [-131.07, 198.24, -219.24, 68.524]], [[-74.094, 108.44, -3.7945, 75.841], [-325.97, -47.646, -495.57, 99.07], [-103.3, 223.48, -275.54, 27.833]]])
  gradient of y: tensor([[[161.35, 210.19], [80.761, 76.203], [161.85, 174.96], [-238.44, -295.34]], [[139.13, -126.82], [42.388, -234.16], [15.199, -409.8], [-359.01, -175.32]], [[-9.6625, -0.071884], [84.701, 162.28], [79.335, 53.956], [-399.33, 44.691]]]), strides (2, 6, 1)
f(torch.randn(2, 3, 4).requires_grad_(), torch.randn(3, 1, 2).requires_grad_()) -> tensor([[0.0, 0.0], [25.39, 7.2627]], requires_grad=True)
  gradient of x: tensor([[[227.02, 227.02, 227.02, 227.02], [227.02, 227.02, 227.02, 227.02], [227.02, 227.02, 227.02, 227.02]], [[248.27, 248.27, 248.27, 248.27], [245.78, 245.78, 245.78, 245.78], [244.16, 244.16, 244.16, 244.16]]])
  gradient of y: tensor([[[21.108, 11.077]], [[50.998, 61.292]], [[-15.684, -31.246]]])
f(torch.randn(2, 1, 4).requires_grad_(), torch.randn(3, 4, 2).requires_grad_()) -> tensor([[0.0, 94.2], [2.8433, 84.637]], requires_grad=True)
  gradient of x: tensor([[[-221.83, 122.56, -243.37, 274.51]], [[-268.44, 134.99, -282.94, 297.17]]])
  gradient of y: tensor([[[-30.386, -7.2335], [-169.8, -167.92], [-108.8, -47.249], [141.21, 19.191]], [[-1.2309, 25.801], [-170.1, -205.6], [-132.5, -160.99], [99.735, 156.39]], [[-24.905, 35.758], [-101.37, -210.36], [-115.18, -187.08], [28.687, 36.091]]]), strides (2, 6, 1)
f(torch.randn(0, 3, 4).requires_grad_(), torch.randn(3, 4, 2).requires_grad_()) -> tensor([], size=(0, 2), requires_grad=True)
  gradient of x: tensor([], size=(0, 3, 4))
  gradient of y: tensor([[[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]]), strides (2, 6, 1)
f(torch.randn(2, 3, 0).requires_grad_(), torch.randn(3, 1, 2).requires_grad_()) -> tensor([[0.0, 0.0], [0.0, 0.0]], requires_grad=True)
  gradient of x: tensor([], size=(2, 3, 0))
  gradient of y: tensor([[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]])
f(torch.randn(2, 3, 4), torch.randn(3, 3, 2)) raises RuntimeError: contracted dimensions need to match, but first has size 4 in dim -1 and second has size 3 in dim 1
