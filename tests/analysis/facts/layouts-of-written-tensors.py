# run: facts
def f(x):
  a = x.contiguous()
  a.add_(1)
  return a.t(), a * 2
def g(x):
  a = x.contiguous()
  a.t_()
  return a * 2
# call: f(torch.ones(2, 3))
# call: g(torch.ones(2, 3))
# ---- expect
# f(torch.ones(2, 3))
%x: Float(%x.size(0), %x.size(1)) on cpu
%a: Float(%x.size(0), %x.size(1)) on cpu, contiguous
%5: Float(%x.size(0), %x.size(1)) on cpu, contiguous
%6: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1))
%8: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new
known of 5 tensors: dtype 5, rank 5, device 5, requires_grad 0, contiguity 4, strides 4, new 1
# g(torch.ones(2, 3))
%x: Float of unknown rank on cpu
%a: Float of unknown rank on cpu
%3: Float of unknown rank on cpu
%5: Float of unknown rank on cpu, dense, new
known of 4 tensors: dtype 4, rank 0, device 4, requires_grad 0, contiguity 1, strides 0, new 1
