# run: facts
def f(x, y, n: int, v: float):
  return x + y, x + n, x * v, x / n, x > y, x & x, x.sum(), x.mean(), x.double()
# call: f(torch.arange(3), torch.arange(3), 2, 0.5)
# call: f(torch.arange(3.), torch.arange(3), 2, 0.5)
# ---- expect
# f(torch.arange(3), torch.arange(3), 2, 0.5)
%x: Long(%x.size(0)) on cpu, requires no gradient
%y: Long(%y.size(0)) on cpu, requires no gradient
%5: Long(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%7: Long(%x.size(0)) on cpu, dense, new, requires no gradient
%8: Float(%x.size(0)) on cpu, dense, new, requires no gradient
%9: Float(%x.size(0)) on cpu, dense, new, requires no gradient
%10: Bool(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%11: Long(%x.size(0)) on cpu, new, requires no gradient
%13: Long() on cpu, contiguous, new, requires no gradient
%15: Long() on cpu, contiguous, new, requires no gradient
%20: Double(%x.size(0)) on cpu, requires no gradient
known of 11 tensors: dtype 11, rank 11, device 11, requires_grad 11, contiguity 7, strides 0, new 8
# f(torch.arange(3.), torch.arange(3), 2, 0.5)
%x: Float(%x.size(0)) on cpu, requires no gradient
%y: Long(%y.size(0)) on cpu, requires no gradient
%5: Float(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%7: Float(%x.size(0)) on cpu, dense, new, requires no gradient
%8: Float(%x.size(0)) on cpu, dense, new, requires no gradient
%9: Float(%x.size(0)) on cpu, dense, new, requires no gradient
%10: Bool(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%11: Float(%x.size(0)) on cpu, new, requires no gradient
%13: Float() on cpu, contiguous, new, requires no gradient
%15: Float() on cpu, contiguous, new, requires no gradient
%20: Double(%x.size(0)) on cpu, requires no gradient
known of 11 tensors: dtype 11, rank 11, device 11, requires_grad 11, contiguity 7, strides 0, new 8
