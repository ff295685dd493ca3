# run: facts
def f(x, y):
  a = x + y
  b = a.view(-1)
  c = a.reshape(3, 2)
  d = x.to(torch.float64)
  e = x.contiguous()
  g = a.add_(1)
  values, indices = x.sort()
  h = torch.dropout(x, 0.5, False)
  i = x.clone()
  return a, b, c, d, e, g, values, indices, h, i, x.expand_as(y), x.detach(), torch.cat([x, y]), x.split(1)
# call: f(torch.ones(2, 3), torch.ones(2, 3))
# ---- expect
# f(torch.ones(2, 3), torch.ones(2, 3))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%y.size(0), %y.size(1)) on cpu, requires no gradient
%a: Float(broadcast(%x.size(0), %y.size(0)), broadcast(%x.size(1), %y.size(1))) on cpu, dense, new
%b: Float(broadcast(%x.size(0), %y.size(0)) * broadcast(%x.size(1), %y.size(1))) on cpu
%c: Float(3, 2) on cpu
%d: Double(%x.size(0), %x.size(1)) on cpu, requires no gradient
%e: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%g: Float(broadcast(%x.size(0), %y.size(0)), broadcast(%x.size(1), %y.size(1))) on cpu, dense, strides (%a.stride(0), %a.stride(1))
%values: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
%indices: Long(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
%h: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%i: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
%31: Float(%y.size(0), %y.size(1)) on cpu, requires no gradient
%32: Float(%x.size(0), %x.size(1)) on cpu, strides (%x.stride(0), %x.stride(1)), requires no gradient
%35: Float(%x.size(0) + %y.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
known of 15 tensors: dtype 15, rank 15, device 15, requires_grad 11, contiguity 7, strides 4, new 5
