# run: facts
def f(x):
  y = x.contiguous()
  a, b = y.chunk(2, 1)
  c, d = y.unbind(0)
  return a, b, c, d
# call: f(torch.ones(2, 6))
# ---- expect
# f(torch.ones(2, 6))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%a: Float(%x.size(0), %a.size(1)) on cpu, strides (%x.size(1), 1), requires no gradient
%b: Float(%x.size(0), %b.size(1)) on cpu, strides (%x.size(1), 1), requires no gradient
%c: Float(%x.size(1)) on cpu, contiguous, requires no gradient
%d: Float(%x.size(1)) on cpu, contiguous, requires no gradient
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 6, contiguity 3, strides 5, new 0
