# run: facts
def f(x, y, n: int):
  for i in range(n):
    x, y = y, x
  return x, y
# call: f(torch.arange(3), torch.ones(3, 3), 2)
# ---- expect
# f(torch.arange(3), torch.ones(3, 3), 2)
%x.1: Long(%x.1.size(0)) on cpu, requires no gradient
%y.1: Float(%y.1.size(0), %y.1.size(1)) on cpu, requires no gradient
  %x.2: ? of unknown rank on cpu, requires no gradient
  %y.2: ? of unknown rank on cpu, requires no gradient
  %x.3: ? of unknown rank on cpu, requires no gradient
  %y.3: ? of unknown rank on cpu, requires no gradient
%x: ? of unknown rank on cpu, requires no gradient
%y: ? of unknown rank on cpu, requires no gradient
known of 8 tensors: dtype 2, rank 2, device 8, requires_grad 8, contiguity 0, strides 0, new 0
