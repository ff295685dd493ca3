# run: facts
def f(x, y):
  a = torch.zeros([2])
  torch.mul(x, y, out=a)
  return a + 1
# call: f(torch.ones(2), torch.ones(2))
# ---- expect
# f(torch.ones(2), torch.ones(2))
%x: Float(%x.size(0)) on cpu, requires no gradient
%y: Float(%y.size(0)) on cpu, requires no gradient
%a: Float of unknown rank on cpu, new
%9: ? of unknown rank
%12: Float of unknown rank on cpu, dense, new
known of 5 tensors: dtype 4, rank 2, device 4, requires_grad 2, contiguity 1, strides 0, new 2
