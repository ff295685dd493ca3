# run: facts
def f(x, y):
  return x * y, y * y, x > y, (x * y).detach(), x.argmax(), y.clone().requires_grad_(), x.int()
# call: f(torch.ones(2).requires_grad_(), torch.ones(2))
# ---- expect
# f(torch.ones(2).requires_grad_(), torch.ones(2))
%x: Float(%x.size(0)) on cpu, requires a gradient
%y: Float(%y.size(0)) on cpu, requires no gradient
%2: Float(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new
%3: Float(%y.size(0)) on cpu, dense, new, requires no gradient
%4: Bool(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%5: Float(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new
%6: Float(broadcast(%x.size(0), %y.size(0))) on cpu, dense, strides (%5.stride(0)), requires no gradient
%9: Long() on cpu, contiguous, new, requires no gradient
%11: Float(%y.size(0)) on cpu, dense, new
%13: Float(%y.size(0)) on cpu, dense, strides (%11.stride(0))
%18: Int(%x.size(0)) on cpu, requires no gradient
known of 11 tensors: dtype 11, rank 11, device 11, requires_grad 7, contiguity 8, strides 2, new 6
