# run: facts
def f(x):
  a = x.clone()
  b = a * 2
  a.unsqueeze_(0)
  return a + 1, b
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
%x: Float(%x.size(0)) on cpu, requires no gradient
%a: Float of unknown rank on cpu, new
%b: Float of unknown rank on cpu, dense, new
%6: Float of unknown rank on cpu
%9: Float of unknown rank on cpu, dense, new
known of 5 tensors: dtype 5, rank 1, device 5, requires_grad 1, contiguity 2, strides 0, new 3
