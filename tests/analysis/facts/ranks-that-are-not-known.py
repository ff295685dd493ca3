# run: facts
# A size of one decides.
def f(x, s: List[int]):
  return x.squeeze(), x.squeeze(1), x.view(s), x.reshape(s), torch.zeros(s), x.nonzero()
# call: f(torch.ones(2, 3), [6])
# ---- expect
# f(torch.ones(2, 3), [6])
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%2: Float of unknown rank on cpu, requires no gradient
%4: Float of unknown rank on cpu, requires no gradient
%5: Float of unknown rank on cpu, requires no gradient
%6: Float of unknown rank on cpu, requires no gradient
%11: Float of unknown rank on cpu, contiguous, new, requires no gradient
%12: Long(%12.size(0), 2) on cpu, new, requires no gradient
known of 7 tensors: dtype 7, rank 2, device 7, requires_grad 7, contiguity 1, strides 0, new 2
