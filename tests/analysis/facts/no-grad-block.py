# run: facts, inline
def f(x):
  with torch.no_grad():
    a = x * 2
  b = a * 3
  return a, b, x * a
# call: f(torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2).requires_grad_())
%x: Float(%x.size(0)) on cpu, requires a gradient
%a: Float(%x.size(0)) on cpu, dense, new
%b: Float(%x.size(0)) on cpu, dense, strides (%a.stride(0)), new
%9: Float(%x.size(0)) on cpu, dense, new
known of 4 tensors: dtype 4, rank 4, device 4, requires_grad 1, contiguity 3, strides 1, new 3
