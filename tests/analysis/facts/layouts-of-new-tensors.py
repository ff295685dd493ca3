# run: facts
def f(x, n: int):
  a = torch.zeros(n, 3)
  b = torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
  c = x.contiguous(memory_format=torch.channels_last)
  d = c.permute(0, 2, 3, 1)
  e = torch.arange(n)
  return a, b, c, d, e, a @ a.t(), x.clone()
# call: f(torch.ones(2, 3, 4, 5), 3)
# ---- expect
# f(torch.ones(2, 3, 4, 5), 3)
%x: Float(%x.size(0), %x.size(1), %x.size(2), %x.size(3)) on cpu, requires no gradient
%a: Float(%n, 3) on cpu, contiguous, new, requires no gradient
%b: Float(2, 3, 4, 5) on cpu, channels-last, new, requires no gradient
%c: Float(%x.size(0), %x.size(1), %x.size(2), %x.size(3)) on cpu, channels-last, requires no gradient
%d: Float(%x.size(0), %x.size(2), %x.size(3), %x.size(1)) on cpu, contiguous, requires no gradient
%e: Long(%n) on cpu, contiguous, new, requires no gradient
%33: Float(3, %n) on cpu, dense, strides (1, 3), requires no gradient
%34: Float(%n, %n) on cpu, contiguous, new, requires no gradient
%36: Float(%x.size(0), %x.size(1), %x.size(2), %x.size(3)) on cpu, dense, new, requires no gradient
known of 9 tensors: dtype 9, rank 9, device 9, requires_grad 9, contiguity 8, strides 7, new 5
