# run: facts
# Writing keeps dtype and rank, and may bring a gradient.
def f(x, y):
  a = x.clone()
  a.add_(y)
  a[0] = 3
  b = a * 2
  return a, b
# call: f(torch.ones(2), torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2), torch.ones(2).requires_grad_())
%x: Float(%x.size(0)) on cpu, requires no gradient
%y: Float(%y.size(0)) on cpu, requires a gradient
%a: Float(%x.size(0)) on cpu, dense, new
%5: Float(%x.size(0)) on cpu, dense, strides (%a.stride(0))
%9: Float() on cpu, contiguous
%13: ?(), contiguous, requires no gradient
%15: Float() on cpu, contiguous
%b: Float(%x.size(0)) on cpu, dense, strides (%a.stride(0)), new
known of 8 tensors: dtype 7, rank 8, device 7, requires_grad 3, contiguity 6, strides 2, new 2
