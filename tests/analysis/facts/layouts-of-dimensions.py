# run: facts
def f(x, n: int):
  a = x.contiguous()
  b = a.diagonal(0, 0, 2)
  c = a.sum(1, keepdim=True)
  d = c.squeeze(1)
  e = a.squeeze(1)
  g = a.unfold(1, 2, 3)
  h = torch.as_strided(a, [2, n], [1, 3])
  i = torch.movedim(a, 0, 2)
  j = a.narrow(2, 1, 2)
  k = a[:, 1:]
  l = a[:]
  m = torch.stack([a, a])
  o = torch.cat([a, a.transpose(0, 1)], 2)
  return b, d, e, g, h, i, j, k, l, m, o
# call: f(torch.ones(3, 4, 5), 2)
# ---- expect
# f(torch.ones(3, 4, 5), 2)
%x: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, requires no gradient
%a: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, contiguous, requires no gradient
%b: Float(%x.size(1), %b.size(1)) on cpu, strides (%x.size(2), %x.size(1) * %x.size(2) + 1), requires no gradient
%c: Float(%x.size(0), 1, %x.size(2)) on cpu, contiguous, new, requires no gradient
%d: Float(%x.size(0), %x.size(2)) on cpu, contiguous, requires no gradient
%e: Float of unknown rank on cpu, requires no gradient
%g: Float(%x.size(0), %g.size(1), %x.size(2), 2) on cpu, strides (%x.size(1) * %x.size(2), 3 * %x.size(2), 1, %x.size(2)), requires no gradient
%h: Float(2, %n) on cpu, strides (1, 3), requires no gradient
%i: Float(%x.size(1), %x.size(2), %x.size(0)) on cpu, dense, strides (%x.size(2), 1, %x.size(1) * %x.size(2)), requires no gradient
%j: Float(%x.size(0), %x.size(1), %j.size(2)) on cpu, strides (%x.size(1) * %x.size(2), %x.size(2), 1), requires no gradient
%40: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, contiguous, requires no gradient
%k: Float(%x.size(0), %k.size(1), %x.size(2)) on cpu, strides (%x.size(1) * %x.size(2), %x.size(2), 1), requires no gradient
%l: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, contiguous, requires no gradient
%m: Float(2, %x.size(0), %x.size(1), %x.size(2)) on cpu, new, requires no gradient
%55: Float(%x.size(1), %x.size(0), %x.size(2)) on cpu, dense, strides (%x.size(2), %x.size(1) * %x.size(2), 1), requires no gradient
%o: Float(%x.size(0), %x.size(1), 2 * %x.size(2)) on cpu, contiguous, new, requires no gradient
known of 16 tensors: dtype 16, rank 15, device 16, requires_grad 16, contiguity 8, strides 13, new 3
