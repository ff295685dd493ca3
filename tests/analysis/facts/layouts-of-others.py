# run: facts
# What has the sizes of another tensor need not have its strides.
def f(x, y):
  a = x.squeeze().expand(y.size())
  b = x.expand(y.size())
  g = torch.autograd.grad([(y * y).sum()], [y])[0]
  if g is None:
    g = y
  return a, b, g
# call: f(torch.ones(1, 1), torch.ones(2, 3).requires_grad_())
# ---- expect
# f(torch.ones(1, 1), torch.ones(2, 3).requires_grad_())
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%y.size(0), %y.size(1)) on cpu, requires a gradient
%2: Float of unknown rank on cpu, requires no gradient
%a: Float(%y.size(0), %y.size(1)) on cpu, requires no gradient
%b: Float(%y.size(0), %y.size(1)) on cpu, requires no gradient
%9: Float(%y.size(0), %y.size(1)) on cpu, dense, new
%11: Float() on cpu, contiguous, new
  %g.2: Float(%y.size(0), %y.size(1)) on cpu, requires no gradient
%g: Float(%y.size(0), %y.size(1)) on cpu
known of 9 tensors: dtype 9, rank 8, device 9, requires_grad 6, contiguity 2, strides 0, new 2
