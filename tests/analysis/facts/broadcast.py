# run: facts
def f(x, y, z):
  return x + y, x * z, torch.where(x > y, x, z), x.expand(2, 2, 3), torch.maximum(y, z)
# call: f(torch.ones(2, 3), torch.ones(3), torch.tensor(1.0))
# ---- expect
# f(torch.ones(2, 3), torch.ones(3), torch.tensor(1.0))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%y.size(0)) on cpu, requires no gradient
%z: Float() on cpu, contiguous, requires no gradient
%4: Float(%x.size(0), broadcast(%x.size(1), %y.size(0))) on cpu, dense, new, requires no gradient
%5: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
%6: Bool(%x.size(0), broadcast(%x.size(1), %y.size(0))) on cpu, dense, new, requires no gradient
%7: Float(%x.size(0), broadcast(%x.size(1), %y.size(0))) on cpu, dense, new, requires no gradient
%13: Float(2, 2, 3) on cpu, strides (0, %13.stride(1), %13.stride(2)), requires no gradient
%14: Float(%y.size(0)) on cpu, dense, new, requires no gradient
known of 9 tensors: dtype 9, rank 9, device 9, requires_grad 9, contiguity 6, strides 1, new 5
