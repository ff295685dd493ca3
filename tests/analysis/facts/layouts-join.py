# run: facts
def f(x, c: bool, n: int):
  a = x.contiguous()
  if c:
    b = a * 2
    d = a.t()
    e = a.t()
  else:
    b = a + 1
    d = a
    e = x
  h = a
  k = a
  for i in range(n):
    h = torch.tanh(h)
    k = k.t()
  return b, d, e, h, k
# call: f(torch.ones(3, 3), True, 2)
# ---- expect
# f(torch.ones(3, 3), True, 2)
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%a: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
  %b.1: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
  %d.1: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), requires no gradient
  %e.1: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), requires no gradient
  %b.2: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%b: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%d: Float(%d.size(0), %d.size(1)) on cpu, dense, requires no gradient
%e: Float(%e.size(0), %e.size(1)) on cpu, requires no gradient
  %h.1: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
  %k.1: Float(%k.1.size(0), %k.1.size(1)) on cpu, dense, requires no gradient
  %h.2: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
  %k.2: Float(%k.1.size(1), %k.1.size(0)) on cpu, dense, strides (%k.1.stride(1), %k.1.stride(0)), requires no gradient
%h: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%k: Float(%k.size(0), %k.size(1)) on cpu, dense, requires no gradient
known of 15 tensors: dtype 15, rank 15, device 15, requires_grad 15, contiguity 13, strides 10, new 3
