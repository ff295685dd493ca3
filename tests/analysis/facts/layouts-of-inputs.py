# run: facts
def f(x):
  a = x.transpose(0, 1)
  b = a.select(0, 1)
  return a, b, x.narrow(1, 0, 2).transpose(1, 2), a.detach(), x.view(-1)
# call: f(torch.ones(2, 3, 4))
# ---- expect
# f(torch.ones(2, 3, 4))
%x: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, requires no gradient
%a: Float(%x.size(1), %x.size(0), %x.size(2)) on cpu, strides (%x.stride(1), %x.stride(0), %x.stride(2)), requires no gradient
%b: Float(%x.size(0), %x.size(2)) on cpu, strides (%x.stride(0), %x.stride(2)), requires no gradient
%10: Float(%x.size(0), %10.size(1), %x.size(2)) on cpu, strides (%x.stride(0), %x.stride(1), %x.stride(2)), requires no gradient
%13: Float(%x.size(0), %x.size(2), %10.size(1)) on cpu, strides (%x.stride(0), %x.stride(2), %x.stride(1)), requires no gradient
%14: Float(%x.size(1), %x.size(0), %x.size(2)) on cpu, strides (%x.stride(1), %x.stride(0), %x.stride(2)), requires no gradient
%17: Float(%x.size(0) * %x.size(1) * %x.size(2)) on cpu, requires no gradient
known of 7 tensors: dtype 7, rank 7, device 7, requires_grad 7, contiguity 0, strides 5, new 0
