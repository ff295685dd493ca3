# run: facts
def f(x, n: int):
  a = x.sum(1)
  b = x.mean(0, keepdim=True)
  c = torch.amax(x, 2)
  d, e = x.max(1)
  g = torch.softmax(x, n)
  h = x.cumsum(0)
  i, j = torch.sort(x.t() if x.dim() == 2 else x)
  k = torch.var(x, dim=0)
  return a, b, c, d, e, g, h, i, j, k
# call: f(torch.ones(2, 3, 4), 1)
# ---- expect
# f(torch.ones(2, 3, 4), 1)
%x: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, requires no gradient
%a: Float(%x.size(0), %x.size(2)) on cpu, contiguous, new, requires no gradient
%b: Float(1, %x.size(1), %x.size(2)) on cpu, contiguous, new, requires no gradient
%c: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%d: Float(%x.size(0), %x.size(2)) on cpu, contiguous, new, requires no gradient
%e: Long(%x.size(0), %x.size(2)) on cpu, contiguous, new, requires no gradient
%g: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, contiguous, new, requires no gradient
%h: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, contiguous, new, requires no gradient
  %29: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, strides (%x.stride(0), %x.stride(1), %x.stride(2)), requires no gradient
%30: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, strides (%x.stride(0), %x.stride(1), %x.stride(2)), requires no gradient
%i: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, dense, new, requires no gradient
%j: Long(%x.size(0), %x.size(1), %x.size(2)) on cpu, dense, new, requires no gradient
%k: Float(%x.size(1), %x.size(2)) on cpu, contiguous, new, requires no gradient
known of 13 tensors: dtype 13, rank 13, device 13, requires_grad 13, contiguity 10, strides 10, new 10
