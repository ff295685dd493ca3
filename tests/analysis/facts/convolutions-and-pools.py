# run: facts
def f(x, w, b: Optional[Tensor]):
  y = torch.conv2d(x, w, b)
  return torch.max_pool2d(y, [2, 2]), torch.adaptive_avg_pool2d(y, [1, 1]), torch.flatten(y, 1)
# call: f(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), None)
# ---- expect
# f(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), None)
%x: tensor(Float, [int, int, int, int]) on cpu, requires no gradient
%w: tensor(Float, [int, int, int, int]) on cpu, requires no gradient
%y: tensor(Float, [int, int, int, int]) on cpu
%15: tensor(Float, [int, int, int, int]) on cpu
%19: tensor(Float, [int, int, int, int]) on cpu
%22: tensor(Float, [int, int]) on cpu
