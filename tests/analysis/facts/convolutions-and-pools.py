# run: facts
def f(x, w, b: Optional[Tensor]):
  y = torch.conv2d(x, w, b)
  return torch.max_pool2d(y, [2, 2]), torch.adaptive_avg_pool2d(y, [1, 1]), torch.flatten(y, 1)
# call: f(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), None)
# ---- expect
# f(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), None)
%x: Float(%x.size(0), %x.size(1), %x.size(2), %x.size(3)) on cpu, requires no gradient
%w: Float(%w.size(0), %w.size(1), %w.size(2), %w.size(3)) on cpu, requires no gradient
%y: Float(%y.size(0), %y.size(1), %y.size(2), %y.size(3)) on cpu
%15: Float(%15.size(0), %15.size(1), %15.size(2), %15.size(3)) on cpu
%19: Float(%19.size(0), %19.size(1), %19.size(2), %19.size(3)) on cpu
%22: Float(%y.size(0), %y.size(1) * %y.size(2) * %y.size(3)) on cpu
