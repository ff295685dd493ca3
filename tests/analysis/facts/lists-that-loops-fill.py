# run: facts
# Lists whose length is not known: elements are what was put in, if that was over before; nothing is said of a list that
# something else has, too, or that is read while it is filled.
def f(x, n: int, c: bool):
  a: List[Tensor] = []
  for i in range(n):
    a.append(x.narrow(0, 0, i) * 2)
  b = torch.cat(a)
  e = x
  d = [x]
  for i in range(n):
    e = torch.cat(d)
    d.append(x.double())
  g = torch.cat(d)
  h: List[Tensor] = []
  k: List[Tensor] = []
  for i in range(n):
    h.append(x)
    if c:
      h[0] = x.relu()
    k.append(x.sum())
  k.append(x)
  l: List[Tensor] = []
  m = [l]
  for i in range(n):
    l.append(x)
  o = torch.zeros(1)
  for i in range(n):
    p: List[Tensor] = []
    for j in range(i + 1):
      p.append(x)
    o = o + torch.cat(p).sum()
  return b, e, g, torch.stack(h), torch.cat(k), torch.cat(l), m, o
# call: f(torch.ones(3, 3), 2, True)
# ---- expect
# f(torch.ones(3, 3), 2, True)
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
  %8: Float(%8.size(0), %x.size(1)) on cpu, strides (%x.stride(0), %x.stride(1)), requires no gradient
  %10: Float(%8.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
%b: Float(%b.size(0), %b.size(1)) on cpu, new, requires no gradient
  %e.1: ? of unknown rank
  %e.2: ? of unknown rank, new
  %24: Double(%x.size(0), %x.size(1)) on cpu, requires no gradient
%e: ? of unknown rank
%g: ?(%g.size(0), %g.size(1)) on cpu, new, requires no gradient
    %34: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
  %38: Float() on cpu, contiguous, new, requires no gradient
%o.1: Float(1) on cpu, contiguous, new, requires no gradient
  %o.2: Float(1) on cpu, contiguous, requires no gradient
  %63: Float(%63.size(0), %63.size(1)) on cpu, new, requires no gradient
  %65: Float() on cpu, contiguous, new, requires no gradient
  %o.3: Float(1) on cpu, contiguous, new, requires no gradient
%o: Float(1) on cpu, contiguous, requires no gradient
%70: Float(%70.size(0), %70.size(1), %70.size(2)) on cpu, new, requires no gradient
%72: Float of unknown rank on cpu, new, requires no gradient
%74: ? of unknown rank, new
known of 20 tensors: dtype 15, rank 15, device 16, requires_grad 16, contiguity 8, strides 5, new 13
