# run: facts
def f(x):
  y = x.contiguous()
  t = y.t()
  return t, t.t(), y[0], y[:, 0], y[1:], y[:, ::2], y.unsqueeze(1), y.view(-1), y.permute(1, 0).unsqueeze(0), y.expand(2, -1, -1), y[None, :1].expand(5, 1, 3), t.reshape(-1)
# call: f(torch.ones(2, 3))
# ---- expect
# f(torch.ones(2, 3))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%t: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), requires no gradient
%4: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%7: Float(%x.size(1)) on cpu, contiguous, requires no gradient
%13: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%15: Float(%x.size(0)) on cpu, strides (%x.size(1)), requires no gradient
%20: Float(%20.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%26: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%30: Float(%x.size(0), %30.size(1)) on cpu, strides (%x.size(1), 2), requires no gradient
%32: Float(%x.size(0), 1, %x.size(1)) on cpu, contiguous, requires no gradient
%35: Float(%x.size(0) * %x.size(1)) on cpu, contiguous, requires no gradient
%39: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), requires no gradient
%41: Float(1, %x.size(1), %x.size(0)) on cpu, strides (%41.stride(0), 1, %x.size(1)), requires no gradient
%47: Float(2, %x.size(0), %x.size(1)) on cpu, strides (0, %x.size(1), 1), requires no gradient
%51: Float(1, %x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%55: Float(1, %55.size(1), %x.size(1)) on cpu, contiguous, requires no gradient
%61: Float(5, 1, 3) on cpu, strides (0, %61.stride(1), %61.stride(2)), requires no gradient
%64: Float(%x.size(0) * %x.size(1)) on cpu, requires no gradient
known of 19 tensors: dtype 19, rank 19, device 19, requires_grad 19, contiguity 12, strides 17, new 0
