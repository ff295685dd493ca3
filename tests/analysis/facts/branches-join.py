# run: facts
def f(x, c: bool):
  if c:
    a = x + 1
    b = x * 0.5
    d = x.sum()
  else:
    a = x
    b = x
    d = x
  return a, b, d
# call: f(torch.arange(3), True)
# ---- expect
# f(torch.arange(3), True)
%x: Long(%x.size(0)) on cpu, requires no gradient
  %a.1: Long(%x.size(0)) on cpu, dense, new, requires no gradient
  %b.1: Float(%x.size(0)) on cpu, dense, new, requires no gradient
  %d.1: Long() on cpu, contiguous, new, requires no gradient
%a: Long(%x.size(0)) on cpu, requires no gradient
%b: ?(%x.size(0)) on cpu, requires no gradient
%d: Long of unknown rank on cpu, requires no gradient
known of 7 tensors: dtype 6, rank 6, device 7, requires_grad 7, contiguity 3, strides 0, new 3
