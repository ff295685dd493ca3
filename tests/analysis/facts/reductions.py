# run: facts
def f(x):
  return x.sum(), x.sum(0), x.sum([0, 1]), x.mean(1, keepdim=True), x.max(0)[0], x.max(0)[1], x.argmax(), x.any(), x.norm(), x.var(0)
# call: f(torch.ones(2, 3))
# ---- expect
# f(torch.ones(2, 3))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%2: Float() on cpu, contiguous, new, requires no gradient
%7: Float(%x.size(1)) on cpu, contiguous, new, requires no gradient
%13: Float() on cpu, contiguous, new, requires no gradient
%18: Float(%x.size(0), 1) on cpu, contiguous, new, requires no gradient
%21: Float(%x.size(1)) on cpu, contiguous, new, requires no gradient
%22: Long(%x.size(1)) on cpu, contiguous, new, requires no gradient
%25: Float(%x.size(1)) on cpu, contiguous, requires no gradient
%28: Float(%x.size(1)) on cpu, contiguous, new, requires no gradient
%29: Long(%x.size(1)) on cpu, contiguous, new, requires no gradient
%32: Long(%x.size(1)) on cpu, contiguous, requires no gradient
%35: Long() on cpu, contiguous, new, requires no gradient
%36: Bool() on cpu, contiguous, new, requires no gradient
%38: Float() on cpu, contiguous, new, requires no gradient
%43: Float(%x.size(1)) on cpu, contiguous, new, requires no gradient
known of 15 tensors: dtype 15, rank 15, device 15, requires_grad 15, contiguity 14, strides 9, new 12
