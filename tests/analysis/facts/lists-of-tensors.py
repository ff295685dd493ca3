# run: facts
def f(x):
  a, b = x.chunk(2)
  c = torch.split(x, 1)
  return torch.cat([a, b]), torch.stack([a, b]), c[0], x.unbind(0)[0]
# call: f(torch.ones(2, 3))
# ---- expect
# f(torch.ones(2, 3))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%a: Float(%a.size(0), %x.size(1)) on cpu, strides (%x.stride(0), %x.stride(1)), requires no gradient
%b: Float(%b.size(0), %x.size(1)) on cpu, strides (%x.stride(0), %x.stride(1)), requires no gradient
%11: Float(%a.size(0) + %b.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%14: Float(2, %a.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%16: Float(%16.size(0), %x.size(1)) on cpu, strides (%x.stride(0), %x.stride(1)), requires no gradient
%20: Float(%x.size(1)) on cpu, strides (%x.stride(1)), requires no gradient
known of 7 tensors: dtype 7, rank 7, device 7, requires_grad 7, contiguity 2, strides 6, new 2
