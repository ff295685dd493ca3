# run: run
# A tensordot at known dimensions is a product of matrices; of two sizes that are summed over together one may be 1.
def f(x, y):
  a = torch.tensordot(x, y, [1, -1], [0, 1]) * 2 + 1
  return a.relu() * torch.tensordot(x * 3, y.abs(), [2], [1]).sum()
# call: f(torch.randint(-3, 4, (2, 3, 4)).float().requires_grad_(), torch.randint(-3, 4, (3, 4, 2)).float().requires_grad_())
# call: f(torch.randint(-3, 4, (2, 3, 4)).float().requires_grad_(), torch.randint(-3, 4, (3, 1, 2)).float().requires_grad_())
# call: f(torch.randint(-3, 4, (2, 1, 4)).float().requires_grad_(), torch.randint(-3, 4, (3, 4, 2)).float().requires_grad_())
# call: f(torch.randint(-3, 4, (0, 3, 4)).float().requires_grad_(), torch.randint(-3, 4, (3, 4, 2)).float().requires_grad_())
# call: f(torch.randint(-3, 4, (2, 3, 0)).float().requires_grad_(), torch.randint(-3, 4, (3, 1, 2)).float().requires_grad_())
# call: f(torch.randint(-3, 4, (2, 3, 4)).float(), torch.randint(-3, 4, (3, 3, 2)).float())
# ---- expect
f(torch.randint(-3, 4, (2, 3, 4)).float().requires_grad_(), torch.randint(-3, 4, (3, 4, 2)).float().requires_grad_()) -> tensor([[-0.0, -0.0], [-783.0, -0.0]], requires_grad=True)
  gradient of x: tensor([[[405.0, 360.0, 360.0, 495.0], [405.0, 360.0, 360.0, 495.0], [405.0, 360.0, 360.0, 495.0]], [[115.0, 940.0, 940.0, 1075.0], [115.0, 360.0, 360.0, 1075.0], [115.0, 1230.0, -510.0, -85.0]]])
  gradient of y: tensor([[[670.0, 90.0], [-625.0, 0.0], [290.0, 0.0], [-65.0, 225.0]], [[-200.0, 90.0], [290.0, 45.0], [-290.0, 0.0], [515.0, -225.0]], [[-780.0, -90.0], [245.0, 45.0], [-290.0, 0.0], [65.0, -225.0]]]), strides (2, 6, 1)
f(torch.randint(-3, 4, (2, 3, 4)).float().requires_grad_(), torch.randint(-3, 4, (3, 1, 2)).float().requires_grad_()) -> tensor([[-0.0, -0.0], [-0.0, -210.0]], requires_grad=True)
  gradient of x: tensor([[[210.0, 210.0, 210.0, 210.0], [210.0, 210.0, 210.0, 210.0], [210.0, 210.0, 210.0, 210.0]], [[42.0, 42.0, 42.0, 42.0], [210.0, 210.0, 210.0, 210.0], [42.0, 42.0, 42.0, 42.0]]])
  gradient of y: tensor([[[-60.0, -60.0]], [[60.0, 0.0]], [[60.0, -396.0]]])
f(torch.randint(-3, 4, (2, 1, 4)).float().requires_grad_(), torch.randint(-3, 4, (3, 4, 2)).float().requires_grad_()) -> tensor([[-1224.0, -0.0], [-0.0, -936.0]], requires_grad=True)
  gradient of x: tensor([[[471.0, 1320.0, 1563.0, 1449.0]], [[327.0, 2184.0, 843.0, 2025.0]]])
  gradient of y: tensor([[[-273.0, 447.0], [129.0, 417.0], [432.0, -864.0], [273.0, -129.0]], [[-273.0, 705.0], [-129.0, 417.0], [432.0, -864.0], [15.0, 129.0]], [[-273.0, 447.0], [129.0, 288.0], [432.0, -864.0], [273.0, 129.0]]]), strides (2, 6, 1)
f(torch.randint(-3, 4, (0, 3, 4)).float().requires_grad_(), torch.randint(-3, 4, (3, 4, 2)).float().requires_grad_()) -> tensor([], size=(0, 2), requires_grad=True)
  gradient of x: tensor([], size=(0, 3, 4))
  gradient of y: tensor([[[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]]), strides (2, 6, 1)
f(torch.randint(-3, 4, (2, 3, 0)).float().requires_grad_(), torch.randint(-3, 4, (3, 1, 2)).float().requires_grad_()) -> tensor([[0.0, 0.0], [0.0, 0.0]], requires_grad=True)
  gradient of x: tensor([], size=(2, 3, 0))
  gradient of y: tensor([[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]])
f(torch.randint(-3, 4, (2, 3, 4)).float(), torch.randint(-3, 4, (3, 3, 2)).float()) raises RuntimeError: contracted dimensions need to match, but first has size 4 in dim -1 and second has size 3 in dim 1
