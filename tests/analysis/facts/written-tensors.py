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
%a: Float(%x.size(0)) on cpu, new
%5: Float(%x.size(0)) on cpu, strides (%a.stride(0))
%9: Float() on cpu, contiguous
%13: ? of unknown rank, requires no gradient
%15: Float() on cpu, contiguous
%b: Float(%x.size(0)) on cpu, new
known of 8 tensors: dtype 7, rank 7, device 7, requires_grad 3, contiguity 2, strides 1, new 2
