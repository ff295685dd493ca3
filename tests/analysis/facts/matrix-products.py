# run: facts
def f(x, y):
  return x @ y, torch.matmul(y, x.t()) if y.dim() == 1 else y
# call: f(torch.ones(2, 3), torch.ones(3))
# call: f(torch.ones(2, 3), torch.ones(3, 2))
# call: f(torch.ones(3), torch.ones(3))
# call: f(torch.ones(4, 2, 3), torch.ones(3, 2))
# ---- expect
# f(torch.ones(2, 3), torch.ones(3))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%y.size(0)) on cpu, requires no gradient
%2: Float(%x.size(0)) on cpu, contiguous, new, requires no gradient
  %6: Float(%x.size(1), %x.size(0)) on cpu, strides (%x.stride(1), %x.stride(0)), requires no gradient
  %7: Float(%x.size(0)) on cpu, contiguous, new, requires no gradient
%8: Float(%x.size(0)) on cpu, contiguous, requires no gradient
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 6, contiguity 3, strides 4, new 2
# f(torch.ones(2, 3), torch.ones(3, 2))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%y.size(0), %y.size(1)) on cpu, requires no gradient
%2: Float(%x.size(0), %y.size(1)) on cpu, contiguous, new, requires no gradient
  %6: Float(%x.size(1), %x.size(0)) on cpu, strides (%x.stride(1), %x.stride(0)), requires no gradient
  %7: Float(%y.size(0), %x.size(0)) on cpu, contiguous, new, requires no gradient
%8: Float(%y.size(0), %y.size(1)) on cpu, strides (%y.stride(0), %y.stride(1)), requires no gradient
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 6, contiguity 2, strides 4, new 2
# f(torch.ones(3), torch.ones(3))
%x: Float(%x.size(0)) on cpu, requires no gradient
%y: Float(%y.size(0)) on cpu, requires no gradient
%2: Float() on cpu, contiguous, new, requires no gradient
  %6: Float(%x.size(0)) on cpu, strides (%x.stride(0)), requires no gradient
  %7: Float() on cpu, contiguous, new, requires no gradient
%8: Float() on cpu, contiguous, requires no gradient
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 6, contiguity 3, strides 1, new 2
# f(torch.ones(4, 2, 3), torch.ones(3, 2))
%x: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, requires no gradient
%y: Float(%y.size(0), %y.size(1)) on cpu, requires no gradient
%2: Float(%x.size(0), %x.size(1), %y.size(1)) on cpu, contiguous, new, requires no gradient
  %6: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, strides (%x.stride(0), %x.stride(1), %x.stride(2)), requires no gradient
  %7: Float(%x.size(0), %y.size(0), %x.size(2)) on cpu, contiguous, new, requires no gradient
%8: Float(%y.size(0), %y.size(1)) on cpu, strides (%y.stride(0), %y.stride(1)), requires no gradient
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 6, contiguity 2, strides 4, new 2
