# run: facts
def f(x, s):
  return x * s, s * x, s + 1, s * 0.5
# call: f(torch.ones(2, dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64))
# call: f(torch.arange(2), torch.tensor(1.0, dtype=torch.float64))
# ---- expect
# f(torch.ones(2, dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64))
%x: Half(%x.size(0)) on cpu, requires no gradient
%s: Double() on cpu, contiguous, requires no gradient
%2: Half(%x.size(0)) on cpu, dense, new, requires no gradient
%3: Half(%x.size(0)) on cpu, dense, new, requires no gradient
%6: Double() on cpu, contiguous, new, requires no gradient
%8: Double() on cpu, contiguous, new, requires no gradient
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 6, contiguity 5, strides 0, new 4
# f(torch.arange(2), torch.tensor(1.0, dtype=torch.float64))
%x: Long(%x.size(0)) on cpu, requires no gradient
%s: Double() on cpu, contiguous, requires no gradient
%2: Double(%x.size(0)) on cpu, dense, new, requires no gradient
%3: Double(%x.size(0)) on cpu, dense, new, requires no gradient
%6: Double() on cpu, contiguous, new, requires no gradient
%8: Double() on cpu, contiguous, new, requires no gradient
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 6, contiguity 5, strides 0, new 4
