# run: run
def f(x):
  return torch.max_pool2d(x, [2, 2]) * 2, torch.avg_pool2d(x, [2, 2]) + 1, torch.adaptive_avg_pool2d(x, [1, 1]).exp()
# call: f(torch.randn(1, 1, 4, 4).requires_grad_())
# ---- expect
f(torch.randn(1, 1, 4, 4).requires_grad_()) -> (tensor([[[[1.6974, -0.50116], [2.4753, 2.2336]]]], requires_grad=True), tensor([[[[0.81563, 0.22108], [1.1041, 1.3819]]]], requires_grad=True), tensor([[[[0.88752]]]], requires_grad=True))
  gradient of x: tensor([[[[0.30547, 0.30547, 3.0555, 0.3888], [2.3055, 0.30547, 0.3888, 0.3888], [0.47214, 0.47214, 0.55547, 0.55547], [0.47214, 3.8055, 4.5555, 0.55547]]]])
