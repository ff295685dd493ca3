# run: facts
def f(x, n: int):
  return torch.zeros([n, 2]), torch.ones_like(x), torch.arange(n), torch.arange(1.0), torch.full([2], n), torch.tensor([1, 2]), torch.rand([n]), x.new_zeros([3]), torch.eye(n, dtype=torch.float64)
# call: f(torch.ones(2, dtype=torch.float16), 3)
# ---- expect
# f(torch.ones(2, dtype=torch.float16), 3)
%x: Half(%x.size(0)) on cpu, requires no gradient
%8: Float(%n, 2) on cpu, contiguous, new, requires no gradient
%14: Half(%x.size(0)) on cpu, dense, new, requires no gradient
%19: Long(%n) on cpu, contiguous, new, requires no gradient
%25: Float(1) on cpu, contiguous, new, requires no gradient
%32: Long(2) on cpu, contiguous, new, requires no gradient
%39: ? of unknown rank on cpu, requires no gradient
%45: Float(%n) on cpu, contiguous, new, requires no gradient
%52: Half(3) on cpu, contiguous, new, requires no gradient
%57: Double(%57.size(0), %57.size(1)) on cpu, contiguous, new, requires no gradient
known of 10 tensors: dtype 9, rank 9, device 10, requires_grad 10, contiguity 8, strides 7, new 8
