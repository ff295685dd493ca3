# run: facts, inline
def g(x):
  return x * 2
def f(x):
  return g(x) + 1
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
%x: Float(%x.size(0)) on cpu, requires no gradient
%7: Float(%x.size(0)) on cpu, dense, new, requires no gradient
%5: Float(%x.size(0)) on cpu, dense, strides (%7.stride(0)), new, requires no gradient
known of 3 tensors: dtype 3, rank 3, device 3, requires_grad 3, contiguity 2, strides 1, new 2
