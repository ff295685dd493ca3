# run: facts
def f(x, y):
  a = x.contiguous().t()
  b = a.clone()
  c = a.clone(memory_format=torch.contiguous_format)
  d = torch.zeros_like(a)
  e = a.to(torch.float64)
  g = torch.relu(a)
  h = a + b
  i = a + c
  j = y.contiguous(memory_format=torch.channels_last)
  k = j.clone() * 2
  l = torch.empty([2, 3, 4, 5], memory_format=torch.channels_last)
  m = y.clone()
  n = y * 2
  return b, c, d, e, g, h, i, k, l, m, n
# call: f(torch.ones(3, 4), torch.ones(2, 3, 4, 5))
# ---- expect
# f(torch.ones(3, 4), torch.ones(2, 3, 4, 5))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%y.size(0), %y.size(1), %y.size(2), %y.size(3)) on cpu, requires no gradient
%3: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%a: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), requires no gradient
%b: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), new, requires no gradient
%c: Float(%x.size(1), %x.size(0)) on cpu, contiguous, new, requires no gradient
%d: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), new, requires no gradient
%e: Double(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), requires no gradient
%g: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), new, requires no gradient
%h: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), new, requires no gradient
%i: Float(%x.size(1), %x.size(0)) on cpu, dense, new, requires no gradient
%j: Float(%y.size(0), %y.size(1), %y.size(2), %y.size(3)) on cpu, channels-last, requires no gradient
%28: Float(%y.size(0), %y.size(1), %y.size(2), %y.size(3)) on cpu, channels-last, new, requires no gradient
%k: Float(%y.size(0), %y.size(1), %y.size(2), %y.size(3)) on cpu, channels-last, new, requires no gradient
%l: Float(2, 3, 4, 5) on cpu, channels-last, new, requires no gradient
%m: Float(%y.size(0), %y.size(1), %y.size(2), %y.size(3)) on cpu, dense, new, requires no gradient
%n: Float(%y.size(0), %y.size(1), %y.size(2), %y.size(3)) on cpu, dense, new, requires no gradient
known of 17 tensors: dtype 17, rank 17, device 17, requires_grad 17, contiguity 15, strides 12, new 11
