# run: facts
def f(x, w, b: Optional[Tensor]):
  y = torch.conv2d(x, w, b)
  return torch.max_pool2d(y, [2, 2]), torch.adaptive_avg_pool2d(y, [1, 1]), torch.flatten(y, 1)
# call: f(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), None)
# ---- expect
# f(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), None)
%x: Float(%x.size(0), %x.size(1), %x.size(2), %x.size(3)) on cpu, requires no gradient
%w: Float(%w.size(0), %w.size(1), %w.size(2), %w.size(3)) on cpu, requires no gradient
%y: Float(%y.size(0), %y.size(1), %y.size(2), %y.size(3)) on cpu, new
%15: Float(%15.size(0), %15.size(1), %15.size(2), %15.size(3)) on cpu, new
%19: Float(%19.size(0), %19.size(1), %19.size(2), %19.size(3)) on cpu, new
%22: Float(%y.size(0), %y.size(1) * %y.size(2) * %y.size(3)) on cpu
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 2, contiguity 0, strides 0, new 3
